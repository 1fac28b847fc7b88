import { Attempt } from '../../../lib/execution/attempt.js';
import type { Execution } from '../../../lib/execution/execution.js';
import { Histogram } from '../../../lib/model/histogram.js';
import type { Outcome } from '../../../lib/model/outcome.js';
import { Meter } from '../../../lib/runtime/meter.js';
import type { Statistics, StatisticsRow } from '../../../lib/stores/statistics.js';

const minuteMs = 60_000;
const begin = 1_764_000_000_000 - (1_764_000_000_000 % minuteMs);

class RecordedStatistics implements Statistics {
  takesParts = false;
  readonly rows: StatisticsRow[] = [];
  isDown = false;

  /** @param ahead How far the store's clock is ahead of the process. */
  constructor(private readonly ahead: () => number) {}

  async record(rows: readonly StatisticsRow[]): Promise<void> {
    if (this.isDown) throw new Error('down');
    this.rows.push(...rows);
  }

  async read(): Promise<readonly StatisticsRow[]> {
    return this.rows;
  }

  async prune(): Promise<void> {}

  async now(): Promise<number> {
    if (this.isDown) throw new Error('down');
    return this.ahead();
  }
}

describe('Meter', () => {
  let now = begin;
  const clock = { now: () => now, monotonic: () => now - begin };
  let statistics: RecordedStatistics;
  let meter: Meter;

  beforeEach(async () => {
    now = begin + 1_000;
    statistics = new RecordedStatistics(() => now + 5_000);
    meter = new Meter({ statistics, clock, owner: 'me' });
    meter.start();
    await new Promise((resolve) => setImmediate(resolve));
  });

  afterEach(() => meter.stop());

  /** An attempt that was due 300 ms before its start, took 200 ms and has just ended. */
  function count(outcome: Outcome, type = 'mail'): void {
    const dueAt = now + 5_000 - 500;
    const job = { id: '1', token: 't', type, payload: '', attempts: 0, maxRetries: 3, interruptions: 0, dueAt };
    const attempt = new Attempt(job, clock.monotonic(), {
      makeLogger: () => {
        throw new Error('unused');
      },
      onNoted: () => undefined,
    });
    attempt.begin(clock.monotonic() - 200);
    const execution: Execution = { outcome };
    meter.count({ attempt, execution, endedAt: clock.monotonic(), isRepeat: false });
  }

  it('counts by type what became of jobs, and how long they waited and took by the clock of the store', async () => {
    count({ kind: 'completed' });
    count({ kind: 'completed' });
    count({ kind: 'retried', delayMs: 1, error: 'x' });
    count({ kind: 'failed', error: 'x' }, 'bill');
    count({ kind: 'expired' }, 'bill');
    count({ kind: 'released', delayMs: 0 });
    count({ kind: 'snoozed', delayMs: 1, reason: 'x' });
    await meter.stop();

    expect(statistics.rows).toMatchObject([
      { type: 'mail', minute: begin, owner: 'me', completed: 2, failed: 0, retried: 1 },
      { type: 'bill', minute: begin, owner: 'me', completed: 0, failed: 2, retried: 0 },
    ]);
    const [mail, bill] = statistics.rows;
    expect(Histogram.parse(mail?.waits ?? '').quantile(1)).toBe(304);
    expect(Histogram.parse(mail?.runs ?? '').quantile(1)).toBe(215);
    expect(Histogram.parse(bill?.runs ?? '').total).toBe(1);
  });

  it('stores nothing where nothing happened', async () => {
    await meter.stop();

    expect(statistics.rows).toEqual([]);
  });

  it('keeps what could not be stored, and no more than ten minutes of it', async () => {
    statistics.isDown = true;
    for (let minute = 0; minute < 15; minute += 1) {
      count({ kind: 'completed' });
      now += minuteMs;
    }
    await meter.stop();
    expect(statistics.rows).toEqual([]);
    statistics.isDown = false;
    await meter.stop();

    const minutes = statistics.rows.map(({ minute }) => (minute - begin) / minuteMs);
    expect(minutes).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  });

  it('stores without its loop what is over, or what there is where a minute may come in parts', async () => {
    count({ kind: 'completed' });
    await meter.tick();
    expect(statistics.rows).toEqual([]);
    now += minuteMs;
    count({ kind: 'completed' });
    await meter.tick();
    expect(statistics.rows).toMatchObject([{ minute: begin, completed: 1 }]);
    await meter.tick();
    expect(statistics.rows).toHaveLength(1);

    statistics.takesParts = true;
    await meter.tick();
    count({ kind: 'completed' });
    await meter.tick();

    expect(statistics.rows.slice(1)).toMatchObject([1, 2].map(() => ({ minute: begin + minuteMs, completed: 1 })));
  });
});
