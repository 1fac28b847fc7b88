import {
  beginBatch,
  enterSteps,
  followUpOf,
  summaryOf,
  totalOf,
  type BatchProgress,
} from '../../../lib/model/batch-progress.js';
import { enqueueResult } from '../../../lib/model/enqueue-result.js';
import type { NewJob } from '../../../lib/model/job.js';
import { aJob, someJobs } from '../../support/a-job.js';

const [onComplete, onFailure] = [aJob({ type: 'done' }), aJob({ type: 'sorry' })];

function progress(sizes: readonly number[], given: Partial<BatchProgress> = {}): BatchProgress {
  const steps = sizes.map((size) => someJobs(size));
  return { ...beginBatch({ id: 'b', steps, onComplete, onFailure }), ...given };
}

/** Enters steps, where another job holds the keys of the jobs in `taken`. */
function enter(
  from: BatchProgress,
  taken: readonly string[] = [],
): { readonly stored: NewJob[]; readonly to: BatchProgress } {
  const steps = enterSteps(from);
  const stored: NewJob[] = [];
  for (let turn = steps.next(); ;) {
    if (turn.done === true) return { stored, to: turn.value };
    stored.push(...turn.value);
    turn = steps.next(turn.value.map(({ id }) => enqueueResult(id, taken.includes(id) ? 'waiting' : 'stored')));
  }
}

describe('enterSteps', () => {
  it('stores the jobs of the next step as members, and of that one only', () => {
    const from = progress([2, 3]);

    const { stored, to } = enter(from);

    expect(stored).toEqual(from.steps[0]?.map((job) => ({ ...job, batchId: 'b' })));
    expect(to).toEqual({ ...from, step: 1, stored: 2 });
    expect(enter(to).to).toMatchObject({ step: 2, stored: 5 });
  });

  it.each([
    [[], { step: 0, stored: 0 }],
    [[0], { step: 1, stored: 0 }],
    [[0, 0, 2, 1], { step: 3, stored: 2 }],
  ])('passes over steps without jobs: %j', (sizes, expected) => {
    expect(enter(progress(sizes)).to).toMatchObject(expected);
  });

  it('passes over a step whose jobs were all held by others, and does not count those', () => {
    const from = progress([1, 2, 1]);
    const taken = [from.steps[0]?.[0]?.id, from.steps[1]?.[1]?.id].map(String);

    const { to } = enter(from, taken);

    expect(to).toMatchObject({ step: 2, stored: 1 });
    expect(totalOf(to)).toBe(2);
  });
});

describe('followUpOf', () => {
  it.each([
    ['all have completed', progress([2], { step: 1, stored: 2 }), 2, 'done', { total: 2, completed: 2, failed: 0 }],
    ['there are none', progress([]), 0, 'done', { total: 0, completed: 0, failed: 0 }],
    ['one has not', progress([2], { step: 1, stored: 2 }), 1, 'sorry', { total: 2, completed: 1, failed: 1 }],
    [
      'a step was not reached',
      progress([2, 3], { step: 1, stored: 2 }),
      1,
      'sorry',
      { total: 5, completed: 1, failed: 1 },
    ],
  ])('says what follows where %s', (_where, from, completed, type, batch) => {
    expect(followUpOf(from, completed)).toMatchObject({ type, batch: { id: 'b', ...batch } });
    expect(summaryOf(from, completed)).toEqual({ id: 'b', ...batch });
  });

  it('is nothing where nothing was asked for', () => {
    expect(followUpOf(progress([], { onComplete: undefined }), 0)).toBeUndefined();
  });
});
