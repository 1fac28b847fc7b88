import { runClean } from '../execution/clean-context.js';
import { describeError } from '../model/failure.js';
import type { LogSink } from './job-log.js';

/** What listens; what it returns is not waited for. */
export type Listener<E> = (event: E) => unknown;

/**
 * Makes a listener harmless: it runs outside of every asynchronous context, nobody waits for it, and what it throws or rejects with
 * changes nothing. The first of its errors is logged, the others would only say it again.
 *
 * @param name For the log line: `Audit.onFailed`.
 */
export function guardListener<E>(
  listener: Listener<E>,
  name: string,
  sink: Pick<LogSink, 'error'>,
): (event: E) => void {
  const report = reporter(name, sink);
  return (event) => {
    try {
      const result = runClean(() => listener(event));
      if (isPromise(result)) result.then(undefined, report);
    } catch (error) {
      report(error);
    }
  };
}

/** Logs the first error that it is given. */
export function reporter(name: string, sink: Pick<LogSink, 'error'>): (error: unknown) => void {
  let isReported = false;
  return (error) => {
    if (isReported) return;
    isReported = true;
    sink.error(
      `${name}, which listens to job events, failed: ${describeError(error)}; ` +
        'this changes nothing for the jobs, and is said once',
    );
  };
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
