import type { Handler, HandlerRegistry } from '../handlers/handler-registry.js';
import { decideFailure } from '../model/decide-failure.js';
import { InvalidOptionError, JobAbortedError } from '../model/errors.js';
import { describeError, describeStack } from '../model/failure.js';
import { mergePolicies, type HandlerPolicies, type HandlerPolicy } from '../model/handler-policy.js';
import { decodePayload } from '../model/payload.js';
import { encodeResult } from '../model/result.js';
import type { Retention } from '../model/retention.js';
import type { Backoff } from '../model/retry-policy.js';
import { steeringOf } from '../model/steering.js';
import { startTimer } from '../model/timer.js';
import type { Attempt } from './attempt.js';
import { runClean } from './clean-context.js';
import type { Execution } from './execution.js';
import type { Ending, Enter, HandlerTransactions, TransactionalWork } from './handler-transactions.js';
import type { RunWrapper } from './run-wrapper.js';
import { runValidated } from './validated-work.js';

/** What the queue decides where a handler does not, and what it was given for job types. */
export interface ExecutionPolicy {
  readonly backoff: Backoff;
  /** Milliseconds; 0 means no limit. */
  readonly timeout: number;
  /** Absent where no rows are kept. */
  readonly retention?: Retention;
  readonly handlers?: HandlerPolicies;
}

/** What goes around attempts; absent where nothing does. */
export interface ExecutorParts {
  readonly wrap?: RunWrapper | undefined;
  readonly transactions?: HandlerTransactions | undefined;
}

const completed: Execution = { outcome: { kind: 'completed' } };
const held: Execution = { outcome: { kind: 'completed', keep: { keepMs: 0, result: undefined, isHeld: true } } };
const released: Execution = { outcome: { kind: 'released', delayMs: 0 } };

/**
 * Runs one attempt and says how it ended. It never throws and never touches the store.
 *
 * An attempt that ends with an error after it was told to stop (shutdown, lost lease) is given back uncounted: it did
 * not fail, it was interrupted. A handler that steers means what it says, then too.
 */
export class Executor {
  constructor(
    private readonly registry: HandlerRegistry,
    private readonly policy: ExecutionPolicy,
    private readonly around: ExecutorParts = {},
  ) {}

  async execute(attempt: Attempt): Promise<Execution> {
    const { type } = attempt.job;
    const handler = this.registry.get(type);
    const policy = mergePolicies(handler?.policy, this.policy.handlers?.[type]);
    if (attempt.isExpired) return { outcome: { kind: 'expired', keepMs: policy.retention?.failed } };
    let work: () => unknown;
    try {
      work = workOf(attempt, handler);
      if (this.around.wrap !== undefined) work = this.around.wrap(attempt, work);
    } catch (error) {
      return this.refused(policy, error);
    }
    const conclude = (ending: Ending): Execution => this.conclude(attempt, policy, ending);
    if (policy.transactional === true) {
      const run = async (enter: Enter): Promise<unknown> => this.run(attempt, policy, () => enter(work));
      return this.executeWithin(attempt, { run, conclude });
    }
    try {
      return conclude({ value: await this.run(attempt, policy, work) });
    } catch (error) {
      return conclude({ thrown: error });
    }
  }

  private run(attempt: Attempt, policy: HandlerPolicy, work: () => unknown): unknown {
    const running = runClean(work);
    const timeout = attempt.job.timeoutMs ?? policy.timeout ?? this.policy.timeout;
    return timeout === 0 ? running : withTimeout(running, attempt, timeout);
  }

  private conclude(attempt: Attempt, policy: HandlerPolicy, ending: Ending): Execution {
    if ('thrown' in ending) return this.judge(attempt, policy, ending.thrown);
    const { value } = ending;
    return steeringOf(value) === undefined ? this.complete(attempt, policy, value) : this.judge(attempt, policy, value);
  }

  private executeWithin(attempt: Attempt, work: TransactionalWork): Promise<Execution> | Execution {
    const { transactions } = this.around;
    if (transactions !== undefined) return transactions.execute(attempt, work);
    const message = `the handler of job type '${attempt.type}' is transactional, and jobs in memory are in no database: enqueue it in the persistent queue`;
    return this.refused({}, new InvalidOptionError(message));
  }

  private complete(attempt: Attempt, policy: HandlerPolicy, value: unknown): Execution {
    const keepMs = policy.retention?.completed ?? this.policy.retention?.completed ?? 0;
    const isHeld = attempt.job.batchId !== undefined;
    if (keepMs === 0) return isHeld ? held : completed;
    const { text, refusal } = encodeResult(value);
    const complaint = refusal === undefined ? undefined : ({ about: 'result', reason: refusal } as const);
    return { outcome: { kind: 'completed', keep: { keepMs, result: text, isHeld } }, complaint };
  }

  /** The end of a job that no retry could help. */
  private refused(policy: HandlerPolicy, error: unknown): Execution {
    const outcome = { kind: 'failed', error: describeError(error), keepMs: policy.retention?.failed } as const;
    return { outcome, stack: describeStack(error) };
  }

  private judge(attempt: Attempt, policy: HandlerPolicy, thrown: unknown): Execution {
    const stopped = attempt.aborted === 'shutdown' || attempt.aborted === 'lease lost';
    const isSteered = steeringOf(thrown) !== undefined;
    if (stopped && !isSteered) return released;
    if (attempt.refusal !== undefined && attempt.refusal === thrown) return this.refused(policy, thrown);
    const verdict = decideFailure(attempt.job, thrown, {
      maxRetries: attempt.job.maxRetries,
      backoff: policy.backoff ?? this.policy.backoff,
      keepFailedMs: policy.retention?.failed,
    });
    // What is meant needs no trace of how it came about.
    return { ...verdict, stack: isSteered ? undefined : describeStack(thrown) };
  }
}

/**
 * What the attempt calls. The payload is read ahead of it, so that what a handler throws is never taken for an unreadable payload.
 *
 * @throws InvalidPayloadError when the payload cannot be read: no retry could change that.
 */
function workOf(attempt: Attempt, handler: Handler | undefined): () => unknown {
  const { run, type, payload: text } = attempt.job;
  if (run !== undefined) return () => run(attempt);
  if (handler === undefined) {
    return () => {
      throw new Error(`no handler registered for job type '${type}'`);
    };
  }
  const payload = decodePayload(text);
  const { schema } = handler.policy;
  if (schema !== undefined) return () => runValidated(schema, { handler, attempt, payload });
  return () => handler.run(payload, attempt);
}

/** Ends the wait, not the handler: JavaScript cannot stop a function that goes on by itself. */
async function withTimeout(running: unknown, attempt: Attempt, timeout: number): Promise<unknown> {
  let stopTimer: (() => void) | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    stopTimer = startTimer(timeout, () => {
      attempt.abort('timeout');
      reject(new JobAbortedError('timeout', `timed out after ${timeout} ms`));
    });
  });
  try {
    return await Promise.race([running, overdue]);
  } finally {
    stopTimer?.();
  }
}
