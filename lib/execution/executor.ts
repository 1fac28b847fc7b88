import { types } from 'node:util';
import type { Handler, HandlerRegistry } from '../handlers/handler-registry.js';
import { InvalidPayloadError } from '../model/errors.js';
import { decideFailure, describeError } from '../model/failure.js';
import type { Outcome } from '../model/outcome.js';
import { decodePayload } from '../model/payload.js';
import type { Backoff } from '../model/retry-policy.js';
import { startTimer } from '../model/timer.js';
import type { Attempt } from './attempt.js';
import { runClean } from './clean-context.js';

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
  ) {}

  async execute(attempt: Attempt): Promise<Execution> {
    const { job } = attempt;
    const handler = this.registry.get(job.type);
    try {
      const running = runClean(() => this.begin(attempt, handler));
      const timeout = handler?.policy.timeout ?? this.policy.timeout;
      await (timeout === 0 ? running : withTimeout(running, attempt, timeout));
      return completed;
    } catch (error) {
      return this.judge(attempt, handler, error);
    }
  }

  private begin(attempt: Attempt, handler: Handler | undefined): unknown {
    const { job } = attempt;
    if (job.run !== undefined) return job.run(attempt);
    if (handler === undefined) throw new Error(`no handler registered for job type '${job.type}'`);
    return handler.run(decodePayload(job.payload), attempt);
  }

  private judge(attempt: Attempt, handler: Handler | undefined, error: unknown): Execution {
    const stopped = attempt.aborted === 'shutdown' || attempt.aborted === 'lease lost';
    if (stopped) return released;
    const text = describeError(error);
    const stack = stackOf(error);
    if (error instanceof InvalidPayloadError) return { outcome: { kind: 'failed', error: text }, stack };
    const { maxRetries } = attempt.job;
    const backoff = handler?.policy.backoff ?? this.policy.backoff;
    return { outcome: decideFailure(attempt.job, text, { maxRetries, backoff }), stack };
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error || types.isNativeError(error) ? error.stack : undefined;
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
