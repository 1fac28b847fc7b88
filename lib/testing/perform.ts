import { Attempt, type AttemptParts } from '../execution/attempt.js';
import { Executor } from '../execution/executor.js';
import { makeRunWrapper } from '../execution/run-wrapper.js';
import { HandlerRegistry, type Handler } from '../handlers/handler-registry.js';
import type { HarnessedParts } from '../jobs.harness.js';
import type { JobBatch } from '../model/batch.js';
import { checkInteger, checkKnownKeys } from '../model/check.js';
import { JobAbortedError, UnknownJobTypeError } from '../model/errors.js';
import { decodeProgress, type JobProgress } from '../model/job-progress.js';
import type { ClaimedJob } from '../model/job.js';
import type { JobLogger } from '../model/job-context.js';
import { decodeLog } from '../model/log-lines.js';
import type { Outcome } from '../model/outcome.js';
import { encodePayload } from '../model/payload.js';
import { resolvePersistentOptions } from '../model/queue-options.js';
import { checkTags } from '../model/tags.js';
import { inJobScope } from '../stores/typeorm/job-scope.js';

/** How a handler is run alone. */
export interface PerformOptions {
  /** The number of the attempt: 1 for the first. Default 1. */
  attempt?: number;
  /** Retries after the first attempt. Default: what the handler says, or 3. */
  maxRetries?: number;
  tags?: readonly string[];
  /** Default: `'test-job'`. */
  id?: string;
  /** What a handler that follows a batch or a chain finds as `job.batch`. Default: nothing. */
  batch?: JobBatch;
  /** What a transactional handler finds as `job.manager`, and a step of `job.once` as its argument. Default: an empty object. */
  manager?: object;
}

/** What came of a handler that was run alone. */
export interface Performed {
  readonly outcome: 'completed' | 'retried' | 'failed' | 'snoozed' | 'expired' | 'released';
  /** What it returned, where it is `completed`. */
  readonly value?: unknown;
  /** What it threw or returned as an error, the very object. */
  readonly error?: unknown;
  /** Milliseconds until it would be due again, where it is `retried` or `snoozed`. */
  readonly delay?: number;
  /** What it said last by `job.progress`. */
  readonly progress?: JobProgress;
  /** The lines that it wrote by `job.log`. */
  readonly log: readonly string[];
}

/** A handler, and what is around it in the app. */
export interface Performance extends Pick<HarnessedParts, 'registry' | 'options'> {
  readonly type: string;
  readonly payload: unknown;
  readonly given: PerformOptions;
}

/** Runs a handler once, without any queue: its schema, the middleware and its timeout count, nothing is stored. */
export async function performJob(performance: Performance): Promise<Performed> {
  const { registry, type, payload, given } = performance;
  const known = registry.get(type);
  if (known === undefined) {
    const types = registry.types().map((name) => `'${name}'`);
    throw new UnknownJobTypeError(
      `no handler is registered for job type '${type}'; known are ${types.join(', ') || 'none'}`,
    );
  }
  const options = resolvePersistentOptions(performance.options);
  const seen: { value?: unknown; error?: unknown } = {};
  const own = new HandlerRegistry();
  own.add(watched(known, seen));
  const { manager = {}, ...wanted } = given;
  const job = jobOf(type, encodePayload(payload, options.maxPayloadSize), { options, known, wanted });
  const attempt = new Attempt(job, 0, partsOf(manager));
  const executor = new Executor(own, options, {
    wrap: makeRunWrapper(options),
    transactions: {
      execute: async (running, work) => {
        running.enter(manager, () => undefined);
        return work
          .run((inside) => inJobScope(manager, inside))
          .then(
            (value) => work.conclude({ value }),
            (thrown: unknown) => work.conclude({ thrown }),
          );
      },
    },
  });
  attempt.begin(0);
  const { outcome } = await executor.execute(attempt);
  return performedOf(outcome, attempt, seen);
}

function jobOf(
  type: string,
  payload: string,
  {
    options,
    known,
    wanted,
  }: {
    readonly options: { readonly maxRetries: number };
    readonly known: Handler;
    readonly wanted: Omit<PerformOptions, 'manager'>;
  },
): ClaimedJob {
  const {
    id = 'test-job',
    attempt = 1,
    maxRetries,
    tags,
    batch,
  } = checkKnownKeys('the options of perform', wanted, ['id', 'attempt', 'maxRetries', 'tags', 'batch']) as Omit<
    PerformOptions,
    'manager'
  >;
  return {
    id,
    token: '',
    type,
    payload,
    attempts: checkInteger('attempt', attempt, 1, 10_000) - 1,
    maxRetries: maxRetries ?? known.policy.maxRetries ?? options.maxRetries,
    interruptions: 0,
    tags: tags === undefined ? undefined : checkTags('tags', tags),
    batch,
  };
}

/** The handler, so that what it returns and throws is seen as it is. */
function watched(handler: Handler, seen: { value?: unknown; error?: unknown }): Handler {
  return {
    ...handler,
    run: async (payload, job) => {
      try {
        return (seen.value = await handler.run(payload, job));
      } catch (error) {
        seen.error = error;
        throw error;
      }
    },
  };
}

function partsOf(manager: object): AttemptParts {
  const silent: JobLogger = { debug: ignore, log: ignore, warn: ignore, error: ignore };
  return { makeLogger: () => silent, once: async (_attempt, { run }) => run(manager) };
}

function performedOf(outcome: Outcome, attempt: Attempt, seen: { value?: unknown; error?: unknown }): Performed {
  const part = attempt.notes?.pending();
  const progress = decodeProgress(part?.progress);
  const notes = {
    ...(progress === undefined ? {} : { progress }),
    log: (decodeLog(part?.log)?.lines ?? []).map(({ text }) => text),
  };
  if (outcome.kind === 'abandoned') throw new TypeError('a handler that was run alone cannot be abandoned');
  if (outcome.kind === 'completed') return { outcome: 'completed', value: seen.value, ...notes };
  const error = seen.error ?? errorOf(outcome, attempt) ?? seen.value;
  const delay = 'delayMs' in outcome ? { delay: outcome.delayMs } : {};
  return { outcome: outcome.kind, error, ...delay, ...notes };
}

/** What ended the attempt without the handler: a payload that was refused, a timeout. */
function errorOf(outcome: Outcome, attempt: Attempt): unknown {
  if (attempt.refusal !== undefined) return attempt.refusal;
  if (attempt.aborted === 'timeout' && 'error' in outcome) return new JobAbortedError('timeout', outcome.error);
  return undefined;
}

function ignore(): void {}
