import { MiddlewareError } from '../model/errors.js';

/** One layer around something: it does what it does, and calls `next` once for what is inside. */
export type Layer<T> = (next: () => Promise<T>) => unknown;

/**
 * Runs something inside of layers, the first one outermost, and resolves to what it came to.
 *
 * Nothing is over before its inside is: a layer that does not wait for `next()` is waited for all the same. What a layer throws is what
 * everything comes to; where it catches what `next()` rejects with, it comes to `undefined`.
 *
 * @throws MiddlewareError when a layer ends without having called `next`, or calls it twice.
 */
export function runLayers<T>(layers: readonly Layer<T>[], inside: () => Promise<T>): Promise<T | undefined> {
  const enter = (index: number): Promise<T> => {
    const layer = layers[index];
    return layer === undefined ? inside() : (new Passage(() => enter(index + 1)).through(layer) as Promise<T>);
  };
  return enter(0);
}

/** The way through one layer. */
class Passage<T> {
  private inside: Promise<T> | undefined;
  private handed: WatchedPromise<T> | undefined;
  private hasFailed = false;
  private breach: MiddlewareError | undefined;
  private isOver = false;

  constructor(private readonly enter: () => Promise<T>) {}

  async through(layer: Layer<T>): Promise<T | undefined> {
    try {
      await layer(() => this.next());
    } catch (error) {
      await this.settled();
      throw error;
    } finally {
      this.isOver = true;
    }
    if (this.inside === undefined) {
      throw new MiddlewareError(
        'a middleware, or a context carrier, ended without calling next(): call it once, or throw to refuse what is inside',
      );
    }
    const isCaught = this.hasFailed && this.handed?.isWatched === true;
    await this.settled();
    if (this.breach !== undefined) throw this.breach;
    return isCaught ? undefined : this.inside;
  }

  private next(): Promise<T> {
    if (this.inside !== undefined || this.isOver) return this.refuse();
    const inside = this.start();
    this.inside = inside;
    inside.catch(() => (this.hasFailed = true));
    this.handed = new WatchedPromise<T>((resolve, reject) => void inside.then(resolve, reject));
    this.handed.hush();
    return this.handed;
  }

  private async start(): Promise<T> {
    return this.enter();
  }

  private async settled(): Promise<void> {
    await this.inside?.catch(() => undefined);
  }

  private refuse(): Promise<T> {
    this.breach = new MiddlewareError(
      this.isOver ? 'a middleware called next() after it had ended' : 'a middleware called next() twice: call it once',
    );
    const refusal = Promise.reject<T>(this.breach);
    // Whoever does not look at it must not end the process by that.
    refusal.catch(() => undefined);
    return refusal;
  }
}

/** Knows whether anybody has looked at it: an error of one that nobody awaits was not caught, but overlooked. */
class WatchedPromise<T> extends Promise<T> {
  isWatched = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- that is what is watched
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isWatched = true;
    return super.then(onFulfilled, onRejected);
  }

  /** Its rejection is told in another way, so it is no unhandled one. */
  hush(): void {
    super.then(undefined, () => undefined);
  }
}
