import { runLayers } from '../execution/layers.js';
import { MiddlewareError } from '../model/errors.js';
import { describeError } from '../model/failure.js';
import type { LogSink } from '../observe/job-log.js';
import type { EnqueuedJob, JobMiddleware } from '../model/job-middleware.js';

/** The middleware around the enqueueing of jobs; absent where there is none, so that it costs nothing. */
export class EnqueueLayers {
  private constructor(
    private readonly middleware: readonly JobMiddleware[],
    private readonly sink: Pick<LogSink, 'error'>,
  ) {}

  /** @param sink Hears of errors that come too late to be thrown. */
  static of(middleware: readonly JobMiddleware[], sink: Pick<LogSink, 'error'>): EnqueueLayers | undefined {
    const layers = middleware.filter((each) => each.enqueue !== undefined);
    return layers.length === 0 ? undefined : new EnqueueLayers(layers, sink);
  }

  /**
   * Stores jobs inside of the middleware.
   *
   * @throws MiddlewareError; whatever middleware throws; whatever `store` throws, unless middleware caught it.
   */
  async around<T>(jobs: readonly EnqueuedJob[], store: () => Promise<T>): Promise<T> {
    let stored: { readonly result: T } | undefined;
    const layers = this.middleware.map((each) => (next: () => Promise<void>) => each.enqueue?.(jobs, next));
    await runLayers(layers, async () => {
      stored = { result: await store() };
    });
    if (stored !== undefined) return stored.result;
    throw new MiddlewareError(
      'a middleware caught the error of next() in enqueue: nothing was stored; throw it on, or another one in its place',
    );
  }

  /** The same, at once: for a queue that returns without a promise. Middleware has to call `next` before it returns. */
  aroundSync<T>(jobs: readonly EnqueuedJob[], store: () => T): T {
    const outcome: SyncOutcome<T> = {};
    const enter = (index: number): Promise<void> => {
      const layer = this.middleware[index];
      try {
        if (layer === undefined) outcome.stored = { result: store() };
        else this.passSync(layer, jobs, () => enter(index + 1));
        return Promise.resolve();
      } catch (error) {
        outcome.failure ??= { error };
        return rejection(error);
      }
    };
    void enter(0);
    // What went wrong inside is told even where a middleware catches it: that comes too late to make it good.
    if (outcome.failure !== undefined || outcome.stored === undefined) throw outcome.failure?.error;
    return outcome.stored.result;
  }

  private passSync(layer: JobMiddleware, jobs: readonly EnqueuedJob[], enter: () => Promise<void>): void {
    let calls = 0;
    let isOver = false;
    const next = (): Promise<void> => {
      if (isOver) return rejection(new MiddlewareError(notCalled));
      return ++calls === 1 ? enter() : rejection(new MiddlewareError(twice));
    };
    const returned = layer.enqueue?.(jobs, next);
    isOver = true;
    if (returned instanceof Promise) returned.catch((error: unknown) => calls === 1 && this.tooLate(error));
    if (calls === 0) throw new MiddlewareError(notCalled);
    if (calls > 1) throw new MiddlewareError(twice);
  }

  private tooLate(error: unknown): void {
    this.sink.error(`a middleware failed after its job had been submitted: ${describeError(error)}`);
  }
}

interface SyncOutcome<T> {
  stored?: { readonly result: T };
  failure?: { readonly error: unknown };
}

const twice = 'a middleware called next() twice: call it once';
const notCalled =
  'a middleware returned from enqueue() without having called next(): submit() gives back the id at once, so next() has to be ' +
  'called before anything is awaited; to refuse the job, throw';

/** What went wrong, for whoever looks at it; whoever does not must not end the process by that. */
function rejection(reason: unknown): Promise<void> {
  const failed = fail(reason);
  failed.catch(() => undefined);
  return failed;
}

async function fail(reason: unknown): Promise<void> {
  // oxlint-disable-next-line typescript/only-throw-error -- what a middleware throws need not be an error
  throw reason;
}
