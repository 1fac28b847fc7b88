import { types } from 'node:util';
import type { Handler, HandlerRegistry } from '../handlers/handler-registry.js';
import { decideFailure, describeError } from '../model/failure.js';
import type { Outcome } from '../model/outcome.js';
import { decodePayload } from '../model/payload.js';
import type { Backoff } from '../model/retry-policy.js';
import { startTimer } from '../model/timer.js';
import type { Attempt } from './attempt.js';
import { runClean } from './clean-context.js';
import type { RunWrapper } from './run-wrapper.js';
import { runValidated } from './validated-work.js';

/** What the queue decides where a handler does not. */
export interface ExecutionPolicy {
  readonly backoff: Backoff;
  /** Milliseconds; 0 means no limit. */
  readonly timeout: number;
}

/** How an attempt ended, with the stack of the error for the log. */
export interface Execution {
  readonly outcome: Outcome;
  readonly stack?: string | undefined;
}

const completed: Execution = { outcome: { kind: 'completed' } };
const released: Execution = { outcome: { kind: 'released', delayMs: 0 } };

/**
 * Runs one attempt and says how it ended. It never throws and never touches the store.
 *
 * An attempt that ends with an error after it was told to stop (shutdown, lost lease) is given back uncounted: it did
 * not fail, it was interrupted.
 */
export class Executor {
  constructor(
    private readonly registry: HandlerRegistry,
    private readonly policy: ExecutionPolicy,
    /** What goes around each attempt; absent where nothing does. */
    private readonly wrap?: RunWrapper,
  ) {}

  async execute(attempt: Attempt): Promise<Execution> {
    const handler = this.registry.get(attempt.job.type);
    let work: () => unknown;
    try {
      work = workOf(attempt, handler);
      if (this.wrap !== undefined) work = this.wrap(attempt, work);
    } catch (error) {
      return refused(error);
    }
    try {
      const running = runClean(work);
      const timeout = handler?.policy.timeout ?? this.policy.timeout;
      await (timeout === 0 ? running : withTimeout(running, attempt, timeout));
      return completed;
    } catch (error) {
      return this.judge(attempt, handler, error);
    }
  }

  private judge(attempt: Attempt, handler: Handler | undefined, error: unknown): Execution {
    const stopped = attempt.aborted === 'shutdown' || attempt.aborted === 'lease lost';
    if (stopped) return released;
    if (attempt.refusal !== undefined && attempt.refusal === error) return refused(error);
    const { maxRetries } = attempt.job;
    const backoff = handler?.policy.backoff ?? this.policy.backoff;
    const outcome = decideFailure(attempt.job, describeError(error), { maxRetries, backoff });
    return { outcome, stack: stackOf(error) };
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

/** The end of a job that no retry could help. */
function refused(error: unknown): Execution {
  return { outcome: { kind: 'failed', error: describeError(error) }, stack: stackOf(error) };
}

/** Whoever throws an error may have put anything where its stack belongs, or something that throws when it is read. */
function stackOf(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error || types.isNativeError(error) ? error.stack : undefined;
    return typeof stack === 'string' ? stack : undefined;
  } catch {
    return undefined;
  }
}

/** Ends the wait, not the handler: JavaScript cannot stop a function that goes on by itself. */
async function withTimeout(running: unknown, attempt: Attempt, timeout: number): Promise<void> {
  let stopTimer: (() => void) | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    stopTimer = startTimer(timeout, () => {
      attempt.abort('timeout');
      reject(new Error(`timed out after ${timeout} ms`));
    });
  });
  try {
    await Promise.race([running, overdue]);
  } finally {
    stopTimer?.();
  }
}
