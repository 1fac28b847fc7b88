import fc from 'fast-check';
import { Fifo } from '../../../lib/model/fifo.js';
import { Heap } from '../../../lib/model/heap.js';
import { Lanes } from '../../../lib/model/lanes.js';
import { JobState, mayBecome, type NextState } from '../../../lib/model/job-state.js';

describe('Fifo', () => {
  it('hands out what was put in, in order, however pushes and shifts are mixed', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer()), { maxLength: 20_000, size: 'max' }), (steps) => {
        const fifo = new Fifo<number>();
        const model: number[] = [];
        let isEqual = true;
        for (const step of steps) {
          if (step !== null) {
            fifo.push(step);
            model.push(step);
          } else {
            isEqual &&= fifo.peek() === model[0] && fifo.shift() === model.shift();
          }
          isEqual &&= fifo.size === model.length;
        }
        expect(isEqual).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});

describe('Lanes', () => {
  it('hands out the lowest priority first, and each in its own order', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ priority: fc.integer({ min: -2, max: 2 }), n: fc.nat() })), (items) => {
        const lanes = new Lanes<(typeof items)[number]>();
        for (const item of items) lanes.push(item, item.priority);
        expect(lanes.size).toBe(items.length);

        const out = items.map(() => lanes.shift());

        expect(out).toEqual(items.toSorted((a, b) => a.priority - b.priority));
        expect(lanes.shift()).toBeUndefined();
        expect(lanes.size).toBe(0);
      }),
    );
  });
});

describe('Heap', () => {
  it('hands out the smallest first', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (numbers) => {
        const heap = new Heap<number>((a, b) => a < b);
        for (const number of numbers) heap.push(number);

        const out = numbers.map(() => heap.pop());

        expect(out).toEqual(numbers.toSorted((a, b) => a - b));
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });
});

describe('mayBecome', () => {
  const all: readonly NextState[] = ['pending', 'running', 'failed', 'gone'];

  it.each([
    [JobState.Pending, ['running', 'gone']],
    [JobState.Running, ['pending', 'failed', 'gone']],
    [JobState.Failed, ['pending', 'gone']],
  ])('lets %s become %j and nothing else', (from, expected) => {
    expect(all.filter((to) => mayBecome(from, to)).toSorted()).toEqual(expected.toSorted());
  });
});
