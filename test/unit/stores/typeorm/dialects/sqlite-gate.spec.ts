import { SqliteGate } from '../../../../../lib/stores/typeorm/dialects/sqlite-gate.js';
import type { SqliteHandle } from '../../../../../lib/stores/typeorm/dialects/sqlite-handle.js';
import { until } from '../../../../support/until.js';

const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });

describe('SqliteGate', () => {
  let now: number;
  let isLocked: boolean;
  let inTransaction: boolean;
  let tries: number;
  let ends: string[];
  let gate: SqliteGate;

  beforeEach(() => {
    now = 0;
    isLocked = true;
    inTransaction = false;
    tries = 0;
    ends = [];
    const handle = {
      open: true,
      get inTransaction() {
        return inTransaction;
      },
      exec: () => undefined,
      prepare: () => ({ get: () => ({ timeout: 5_000 }) }),
    } as unknown as SqliteHandle;
    const clock = { now: () => now, monotonic: () => now };
    gate = new SqliteGate({ handle: () => handle, clock, transactionWaitMs: 60_000 });
  });

  /** A block that needs the lock of the file. */
  function run(): void {
    const place = ends.push('waits') - 1;
    const write = (): void => {
      tries += 1;
      if (isLocked) throw busy;
    };
    gate.run(write).then(
      () => (ends[place] = 'done'),
      (error: unknown) => (ends[place] = error === busy ? 'locked' : String(error)),
    );
  }

  /** Lets so many milliseconds pass, and the gate try again afterwards. */
  async function pass(ms: number): Promise<void> {
    now += ms;
    const before = tries;
    await until(() => tries > before + 1 || !ends.includes('waits'));
  }

  it('gives up all blocks that a lock has held up for ten seconds, and not one after the other', async () => {
    for (let n = 0; n < 3; n += 1) run();
    await pass(9_999);
    expect(ends).toEqual(['waits', 'waits', 'waits']);

    await pass(1);

    expect(ends).toEqual(['locked', 'locked', 'locked']);
  });

  it('gives each its ten seconds from its own coming', async () => {
    run();
    await pass(4_000);
    run();
    await pass(6_000);
    expect(ends).toEqual(['locked', 'waits']);

    await pass(4_000);

    expect(ends).toEqual(['locked', 'locked']);
  });

  it("does not count the time for which the app's own transaction was in the way", async () => {
    run();
    await pass(5_000);
    inTransaction = true;
    await until(() => {
      const before = tries;
      gate.pump();
      return tries === before;
    });
    now += 20_000;
    inTransaction = false;
    await pass(0);
    expect(ends).toEqual(['waits']);

    isLocked = false;
    await until(() => ends[0] === 'done');
  });
});
