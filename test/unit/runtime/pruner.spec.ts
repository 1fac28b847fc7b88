import { jest } from '@jest/globals';
import type { PruneRequest } from '../../../lib/stores/job-store.js';
import { Pruner } from '../../../lib/runtime/pruner.js';

describe('Pruner', () => {
  const pruneSlots = (): Promise<number> => Promise.resolve(0);

  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('goes on chunk by chunk while there is more, then rests', async () => {
    const chunks = [500, 500, 3];
    const prune = jest.fn(({ state }: PruneRequest) => Promise.resolve(state === 'failed' ? (chunks.shift() ?? 0) : 0));
    const pruner = new Pruner({ store: { prune, pruneSlots }, keepMs: { failed: 1_000 } });

    pruner.start();
    await jest.advanceTimersByTimeAsync(10_000);

    expect(prune.mock.calls.filter(([{ state }]) => state === 'failed')).toHaveLength(3);
    expect(prune).toHaveBeenCalledWith({ state: 'failed', endedForMs: 1_000, limit: 500 });
    expect(prune).toHaveBeenCalledWith({ state: 'cancelled', endedForMs: Infinity, limit: 500 });
    await pruner.stop();
  });

  it('takes few at a time where a statement holds up the process', async () => {
    const prune = jest.fn(() => Promise.resolve(0));
    const pruner = new Pruner({ store: { prune, pruneSlots, mostAtOnce: 300 }, keepMs: {} });

    pruner.start();
    await jest.advanceTimersByTimeAsync(1);

    expect(prune).toHaveBeenCalledWith({ state: 'failed', endedForMs: Infinity, limit: 60 });
    await pruner.stop();
  });

  it('tries again after a failure', async () => {
    const answers = [() => Promise.reject(new Error('no')), () => Promise.resolve(0)];
    const prune = jest.fn(() => (answers.shift() ?? (() => Promise.resolve(0)))());
    const pruner = new Pruner({ store: { prune, pruneSlots }, keepMs: { failed: 1_000 } });

    pruner.start();
    await jest.advanceTimersByTimeAsync(80_000);

    expect(prune.mock.calls.length).toBeGreaterThanOrEqual(2);
    await pruner.stop();
  });

  it('looks once a minute while there is something to delete, and seldom where there was nothing', async () => {
    const chunks = [1, 1, 0, 0, 0];
    const slots = jest.fn(() => Promise.resolve(chunks.shift() ?? 0));
    const pruner = new Pruner({ store: { prune: () => Promise.resolve(0), pruneSlots: slots }, keepMs: {} });

    pruner.start();
    await jest.advanceTimersByTimeAsync(2 * 75_000);
    expect(slots).toHaveBeenCalledTimes(3);
    await jest.advanceTimersByTimeAsync(225_000 - 76_000);

    expect(slots).toHaveBeenCalledTimes(3);
    await pruner.stop();
  });

  it('deletes throttles that are over, also where failed jobs are kept', async () => {
    const chunks = [500, 1];
    const slots = jest.fn(() => Promise.resolve(chunks.shift() ?? 0));
    const prune = jest.fn(() => Promise.resolve(0));
    const pruner = new Pruner({ store: { prune, pruneSlots: slots }, keepMs: {} });

    pruner.start();
    await jest.advanceTimersByTimeAsync(10_000);

    expect(slots).toHaveBeenCalledTimes(2);
    await pruner.stop();
  });
});
