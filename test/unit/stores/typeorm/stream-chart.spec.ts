import fc from 'fast-check';
import { StreamChart, type StreamLooks } from '../../../../lib/stores/typeorm/stream-chart.js';
import type { Stream } from '../../../../lib/stores/typeorm/streams.js';

/** Streams in the order of an index, and how often it is looked at. */
class FakeIndex implements StreamLooks {
  streams: readonly Stream[] = [];
  steps = 0;
  wholeLooks = 0;

  stepFrom = (marks: readonly Stream[]): Promise<ReadonlyMap<Stream, Stream | undefined>> => {
    this.steps += 1;
    const next = (mark: Stream): Stream | undefined => this.of([mark.type]).find((stream) => compare(stream, mark) > 0);
    return Promise.resolve(new Map(marks.map((mark) => [mark, next(mark)])));
  };

  lookAtAll = (types: readonly string[]): Promise<readonly Stream[]> => {
    this.wholeLooks += 1;
    return Promise.resolve(this.of(types));
  };

  of(types: readonly string[]): readonly Stream[] {
    return this.streams.filter(({ type }) => types.includes(type)).toSorted(compare);
  }
}

function compare(a: Stream, b: Stream): number {
  if (a.type !== b.type) return a.type < b.type ? -1 : 1;
  if (a.queue !== b.queue) return a.queue < b.queue ? -1 : 1;
  return a.priority - b.priority;
}

const stream = fc.record({
  type: fc.constantFrom('mail', 'bill'),
  queue: fc.constantFrom('a', 'a 1', 'default', 'ü'),
  priority: fc.integer({ min: -2, max: 2 }),
});

function many(count: number, from = 0): readonly Stream[] {
  return Array.from({ length: count }, (_unused, n) => ({ type: 'mail', queue: 'default', priority: from + n }));
}

describe('StreamChart', () => {
  it('knows all streams of the types that are asked for, whatever comes and goes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(stream, { maxLength: 12, selector: (one) => JSON.stringify(one) })),
        async (states) => {
          const index = new FakeIndex();
          const chart = new StreamChart();
          for (const [turn, streams] of states.entries()) {
            index.streams = streams;
            const types = [['mail'], ['mail', 'bill'], ['bill', 'mail']][turn % 3] as readonly string[];
            const found = await chart.streams(types, index);
            expect(found.toSorted(compare)).toEqual(index.of(types));
          }
        },
      ),
    ));

  it('takes one trip while nothing has changed, one more for what is new, and none for what has gone', async () => {
    const index = new FakeIndex();
    const chart = new StreamChart();
    index.streams = many(2);
    await chart.streams(['mail'], index);
    index.steps = 0;

    await chart.streams(['mail'], index);
    expect(index.steps).toBe(1);

    index.streams = many(2, 1);
    await chart.streams(['mail'], index);
    expect(index.steps).toBe(1 + 2);

    index.streams = many(1, 2);
    await chart.streams(['mail'], index);
    expect(index.steps).toBe(1 + 2 + 1);
    expect(index.wholeLooks).toBe(0);
  });

  it('looks at all at once where there are too many new ones, or too many at all', async () => {
    const index = new FakeIndex();
    const chart = new StreamChart();
    index.streams = many(10);
    await chart.streams(['mail'], index);
    expect(index.wholeLooks).toBe(1);
    await chart.streams(['mail'], index);
    expect(index.wholeLooks).toBe(1);

    index.streams = many(64);
    await chart.streams(['mail'], index);
    expect(await chart.streams(['mail'], index)).toHaveLength(64);
    expect(index.wholeLooks).toBe(3);
  });
});
