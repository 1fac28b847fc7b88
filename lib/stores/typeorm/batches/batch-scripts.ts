import {
  beginBatch,
  enterSteps,
  followUpOf,
  totalOf,
  type BatchProgress,
  type NewBatch,
} from '../../../model/batch-progress.js';
import type { StoredBatch } from '../../batch-store.js';
import { toProgress, toTexts } from './batch-row.js';
import {
  activeStatement,
  countCompletedStatement,
  endStatement,
  enterStatement,
  insertBatchStatement,
  lockBatchStatement,
} from './batch-statements.js';
import type { BatchWords, Script } from './batch-sql.js';

/** Stores a batch with its first jobs. */
export function* insertScript(batch: NewBatch): Script<StoredBatch> {
  const doers = new Map<string, string>();
  const entered = yield* enter(beginBatch(batch), doers);
  const left = batch.steps.slice(entered.step);
  const progress = { ...entered, steps: left, step: 0 };
  const isOver = progress.stored === 0;
  yield { write: insertBatchStatement({ progress, texts: toTexts(batch, left), isOver }) };
  if (isOver) yield* follow(progress, 0);
  return { jobIds: batch.steps.flat().map(({ id }) => doers.get(id) ?? id), total: totalOf(progress) };
}

/**
 * Takes a batch one step further. Its row is locked before it is looked whether a job is left: of two who come at once, each having ended a job, the
 * second one sees what both have done.
 */
export function* advanceScript(id: string, words: BatchWords): Script<'open' | 'ended'> {
  const [row] = (yield { read: lockBatchStatement(id, words) }).rows;
  if (row === undefined) return 'ended';
  if ((yield { read: activeStatement(words, id) }).rows.length > 0) return 'open';
  const [count] = (yield { read: countCompletedStatement(words.members, id) }).rows;
  const completed = Number(count?.['jobs']);
  const before = toProgress(row);
  const progress = completed < before.stored ? before : yield* enter(before, new Map());
  if (progress.stored > before.stored) {
    yield { write: enterStatement(progress, words) };
    return 'open';
  }
  yield* follow(progress, completed);
  yield { write: endStatement(progress, completed, words) };
  return 'ended';
}

/** @param doers Is told of each job that was to be stored which one does its work. */
function* enter(from: BatchProgress, doers: Map<string, string>): Script<BatchProgress> {
  const steps = enterSteps(from);
  let turn = steps.next();
  while (turn.done !== true) {
    const jobs = turn.value;
    const { results } = yield { store: jobs };
    for (const [index, { id }] of jobs.entries()) doers.set(id, results[index]?.id ?? id);
    turn = steps.next(results);
  }
  return turn.value;
}

function* follow(progress: BatchProgress, completed: number): Script<void> {
  const followUp = followUpOf(progress, completed);
  if (followUp !== undefined) yield { store: [followUp] };
}
