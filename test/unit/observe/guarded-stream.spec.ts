import { firstValueFrom, map, mergeMap, Subject, take, toArray } from 'rxjs';
import { GuardedStream } from '../../../lib/observe/guarded-stream.js';
import { RecordingSink } from '../../support/recording-sink.js';

const boom = (): never => {
  throw new Error('boom');
};

/** A stream whose events the test sends. */
function makeStream() {
  const sink = new RecordingSink();
  const source = new Subject<number>();
  const stream = new GuardedStream<number>(sink, (subscriber) => {
    const subscription = source.subscribe(subscriber);
    return () => subscription.unsubscribe();
  });
  return { sink, source, stream };
}

/** rxjs throws what it cannot hand on in a timer of its own. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('GuardedStream', () => {
  it.each([
    ['a subscriber', (stream: GuardedStream<number>) => stream.subscribe(boom)],
    ['an observer', (stream: GuardedStream<number>) => stream.subscribe({ next: boom })],
    ['a subscriber behind an operator', (stream: GuardedStream<number>) => stream.pipe(map((n) => n)).subscribe(boom)],
    ['an operator', (stream: GuardedStream<number>) => stream.pipe(map(boom)).subscribe()],
    [
      'a promise within an operator',
      (stream: GuardedStream<number>) => stream.pipe(mergeMap(() => Promise.reject(new Error('boom')))).subscribe(),
    ],
    ['a handler of errors', (stream: GuardedStream<number>) => stream.pipe(map(boom)).subscribe({ error: boom })],
  ])('logs what %s throws, once, and hurts nobody', async (_who, subscribe) => {
    const { sink, source, stream } = makeStream();
    const others: number[] = [];
    subscribe(stream);
    stream.subscribe((n) => others.push(n));

    source.next(1);
    source.next(2);
    await settled();

    expect(others).toEqual([1, 2]);
    expect(sink.lines).toEqual([expect.stringMatching(/^error: a subscriber of observe\(\).*boom/)]);
  });

  it('hands errors to whoever wants them', () => {
    const { sink, source, stream } = makeStream();
    const errors: unknown[] = [];
    stream.pipe(map(boom)).subscribe({ error: (error) => errors.push(error) });

    source.next(1);

    expect(errors).toEqual([new Error('boom')]);
    expect(sink.lines).toEqual([]);
  });

  it('works with operators and promises, and says when it is over', async () => {
    const { source, stream } = makeStream();
    const first = firstValueFrom(stream);
    const all = firstValueFrom(stream.pipe(take(2), toArray()));
    let isOver = false;
    stream.subscribe({ complete: () => (isOver = true) });

    source.next(1);
    source.next(2);
    source.complete();

    expect(await first).toBe(1);
    expect(await all).toEqual([1, 2]);
    expect(isOver).toBe(true);
  });

  it('lets go of its source when nobody is subscribed', () => {
    const { source, stream } = makeStream();

    const subscription = stream.subscribe();
    expect(source.observed).toBe(true);
    subscription.unsubscribe();

    expect(source.observed).toBe(false);
  });
});
