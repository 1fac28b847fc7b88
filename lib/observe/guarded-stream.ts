import { Observable, Subscriber, type Observer, type Operator, type Subscription } from 'rxjs';
import { guardListener, reporter } from './listener-guard.js';
import type { LogSink } from './job-log.js';

type Consumer<T> = Partial<Observer<T>> | ((value: T) => void) | null;

const name = 'a subscriber of observe()';

/**
 * An observable whose subscribers cannot hurt anybody. What a subscriber throws, rxjs throws again where nobody can catch it, which ends
 * the process; here it is logged. The same goes for the streams that operators make of this one.
 */
export class GuardedStream<T> extends Observable<T> {
  constructor(
    private readonly sink: Pick<LogSink, 'error'>,
    connect?: (subscriber: Subscriber<T>) => () => void,
  ) {
    super(connect);
  }

  // oxlint-disable typescript/no-deprecated -- rxjs 7 lets operators make a stream like their source in no other way
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new GuardedStream<R>(this.sink);
    lifted.source = this;
    lifted.operator = operator;
    return lifted;
  }
  // oxlint-enable typescript/no-deprecated

  override subscribe(
    consumer?: Consumer<T>,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators subscribe to their source by one of these; it hands errors on to the guarded end of the chain.
    if (consumer instanceof Subscriber) return super.subscribe(consumer);
    const given: Partial<Observer<T>> =
      typeof consumer === 'object' && consumer !== null
        ? consumer
        : { next: consumer ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    return super.subscribe(this.guarded(given));
  }

  private guarded(given: Partial<Observer<T>>): Partial<Observer<T>> {
    const { sink } = this;
    const complete = guardListener(() => given.complete?.(), name, sink);
    return {
      next: guardListener((value: T) => given.next?.(value), name, sink),
      error:
        given.error === undefined ? reporter(name, sink) : guardListener((e: unknown) => given.error?.(e), name, sink),
      complete: () => complete(undefined),
    };
  }
}
