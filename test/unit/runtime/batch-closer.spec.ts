import { Attempt } from '../../../lib/execution/attempt.js';
import { systemClock, type Clock } from '../../../lib/model/clock.js';
import type { Outcome } from '../../../lib/model/outcome.js';
import { BatchCloser, batchesOf } from '../../../lib/runtime/batch-closer.js';
import type { BatchPage, BatchStore } from '../../../lib/stores/batch-store.js';
import { until } from '../../support/until.js';
import { aClaimedJob } from '../../support/a-job.js';

/** Batches that are over or not, and what was asked about them. */
class ScriptedBatches implements BatchStore {
  readonly asked: string[] = [];
  readonly over = new Set<string>();
  /** Those that are open, in their order. */
  readonly known: string[] = [];
  readonly broken = new Set<string>();
  fault: (verb: string) => void = () => undefined;

  insert = () => Promise.reject(new Error('not here'));
  find = () => Promise.resolve(undefined);

  async idle(ids: readonly string[]): Promise<readonly string[]> {
    this.ask(`idle ${ids.join(' ')}`);
    return ids.filter((id) => this.over.has(id));
  }

  async page(after: string | undefined, limit: number): Promise<BatchPage> {
    this.ask(`page ${after ?? ''}`.trim());
    const page = this.known.filter((id) => after === undefined || id > after).slice(0, limit);
    const next = page.length < limit ? undefined : page.at(-1);
    return { idle: page.filter((id) => this.over.has(id)), open: page.length, next };
  }

  async advance(id: string): Promise<'open' | 'ended'> {
    this.ask(`advance ${id}`);
    if (this.broken.has(id)) throw new Error('its row was changed');
    return 'ended';
  }

  async release(id: string, after: string | undefined): Promise<string | undefined> {
    this.ask(`release ${id}`);
    return after === undefined ? 'a member' : undefined;
  }

  async close(id: string): Promise<void> {
    this.ask(`close ${id}`);
  }

  async prune(): Promise<number> {
    this.ask('prune');
    return 0;
  }

  private ask(what: string): void {
    this.asked.push(what);
    this.fault(what);
  }
}

const closed = (id: string): string[] => [`advance ${id}`, `release ${id}`, `release ${id}`, `close ${id}`];

describe('BatchCloser', () => {
  let batches: ScriptedBatches;
  let closer: BatchCloser;
  let now: number;
  const clock: Clock = { ...systemClock, monotonic: () => now };

  beforeEach(() => {
    now = 1_000_000;
    batches = new ScriptedBatches();
    closer = new BatchCloser({ batches, clock });
  });

  afterEach(() => closer.stop());

  it('sweeps all open batches, page by page, and not again before some seconds are over', async () => {
    batches.known.push(...Array.from({ length: 150 }, (_, n) => String(n).padStart(3, '0')));
    batches.over.add('007').add('140');

    await closer.tick();
    expect(batches.asked).toEqual(['page', ...closed('007'), 'page 099', ...closed('140')]);
    await closer.tick();
    now += 4_000;
    await closer.tick();
    expect(batches.asked).toHaveLength(10);
    now += 60_000;
    await closer.tick();
    expect(batches.asked.at(-1)).toBe('prune');
  });

  it('sweeps less often where the look takes long, but not where much was found', async () => {
    batches.known.push('a');
    batches.over.add('a');
    batches.fault = (what) => {
      if (what.startsWith('advance')) now += 3_000;
      if (what === 'page') now += 200;
    };
    await closer.tick();
    batches.asked.length = 0;

    now += 5_000;
    await closer.tick();
    expect(batches.asked).toEqual([]);
    now += 5_000;
    await closer.tick();

    expect(batches.asked[0]).toBe('page');
  });

  it('sweeps seldom while there are no batches, and often again once one was heard of', async () => {
    const sweepsAfter = async (ms: number): Promise<number> => {
      now += ms;
      batches.asked.length = 0;
      await closer.tick();
      return batches.asked.filter((what) => what === 'page').length;
    };
    await closer.tick();

    expect([await sweepsAfter(29_000), await sweepsAfter(1_000), await sweepsAfter(5_000)]).toEqual([0, 1, 0]);
    closer.tell(['a']);
    expect(await sweepsAfter(0)).toBe(1);
    batches.known.push('b');
    expect([await sweepsAfter(30_000), await sweepsAfter(5_000)]).toEqual([1, 1]);
  });

  it('looks at those it is told of together, and takes further those that are over', async () => {
    await closer.tick();
    batches.asked.length = 0;
    batches.over.add('b');

    closer.tell(['a', 'b', 'a']);
    closer.tell(['b']);
    await closer.tick();

    expect(batches.asked).toEqual(['idle a b', ...closed('b')]);
    await closer.tick();
    expect(batches.asked).toHaveLength(5);
  });

  it('forgets nothing when the store fails', async () => {
    await closer.tick();
    batches.over.add('a');
    closer.tell(['a']);
    batches.fault = () => {
      throw new Error('down');
    };
    await closer.tick();
    batches.fault = () => undefined;
    batches.asked.length = 0;

    await closer.tick();

    expect(batches.asked).toEqual(['idle a', ...closed('a')]);
  });

  it('is held up by none that cannot be taken further', async () => {
    batches.known.push(...Array.from({ length: 120 }, (_, n) => String(n).padStart(3, '0')));
    batches.over.add('000').add('001').add('119');
    batches.broken.add('000');

    await closer.tick();

    expect(batches.asked).toEqual(['page', 'advance 000', ...closed('001'), 'page 099', ...closed('119')]);
  });

  it('runs by itself once it is started, as soon as it is told', async () => {
    closer.start();
    await until(() => batches.asked.length === 0);
    batches.over.add('a');

    closer.tell(['a']);

    await until(() => batches.asked.includes('close a'));
    expect(batches.asked).toEqual(['idle a', ...closed('a')]);
  });

  it('looks once more when it is stopped', async () => {
    batches.over.add('a');
    closer.tell(['a']);

    await closer.stop();

    expect(batches.asked).toEqual(['idle a', ...closed('a')]);
  });
});

describe('batchesOf', () => {
  const ended = (outcome: Outcome, batchId?: string) => {
    const attempt = new Attempt(aClaimedJob({ batchId }), 0, { makeLogger: () => console });
    return { attempt, execution: { outcome }, endedAt: 0, isRepeat: false };
  };

  it('names the batches of jobs that are over for good', () => {
    expect(
      batchesOf([
        ended({ kind: 'completed' }, 'a'),
        ended({ kind: 'completed' }),
        ended({ kind: 'failed', error: '' }, 'b'),
        ended({ kind: 'expired' }, 'c'),
        ended({ kind: 'retried', delayMs: 1, error: '' }, 'd'),
        ended({ kind: 'snoozed', delayMs: 1, reason: '' }, 'e'),
        ended({ kind: 'released', delayMs: 0 }, 'f'),
        ended({ kind: 'abandoned' }, 'g'),
      ]),
    ).toEqual(['a', 'b', 'c']);
  });
});
