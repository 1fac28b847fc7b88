import fc from 'fast-check';
import { Fifo } from '../../../lib/model/fifo.js';
import { Heap } from '../../../lib/model/heap.js';
import { Lanes } from '../../../lib/model/lanes.js';
import { controllable, JobState, mayBecome, type NextState } from '../../../lib/model/job-state.js';
import { RecentSet } from '../../../lib/model/recent-set.js';

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
  const all: readonly NextState[] = ['pending', 'running', 'failed', 'cancelled', 'gone'];

  it.each([
    [JobState.Pending, ['running', 'cancelled', 'gone']],
    [JobState.Running, ['pending', 'failed', 'cancelled', 'gone']],
    [JobState.Failed, ['pending', 'gone']],
    [JobState.Cancelled, ['pending', 'gone']],
  ])('lets %s become %j and nothing else', (from, expected) => {
    expect(all.filter((to) => mayBecome(from, to)).toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    ['cancel', 'cancelled'],
    ['retry', 'pending'],
    ['delete', 'gone'],
  ] as const)('lets %s do what it does', (control, to) => {
    expect(controllable[control].every((from) => mayBecome(from, to))).toBe(true);
  });
});

describe('remove', () => {
  it('takes one item out of a Fifo and of a Heap, and leaves the others in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer(), { minLength: 1 }), fc.nat(), fc.nat(), (numbers, shifts, index) => {
        const fifo = new Fifo<number>();
        const heap = new Heap<number>((a, b) => a < b);
        for (const number of numbers) fifo.push(number);
        for (const number of numbers) heap.push(number);
        const gone = numbers[index % numbers.length] as number;
        const shifted = Array.from({ length: shifts % numbers.length }, () => fifo.shift());
        const isIn = !shifted.includes(gone);

        expect(fifo.remove((item) => item === gone)).toBe(isIn ? gone : undefined);
        expect(heap.remove((item) => item === gone)).toBe(gone);
        expect(heap.remove((item) => item === gone)).toBeUndefined();

        const rest = numbers.filter((number) => number !== gone);
        expect(rest.map(() => heap.pop())).toEqual(rest.toSorted((a, b) => a - b));
        const left = rest.filter((number) => !shifted.includes(number));
        expect(left.map(() => fifo.shift())).toEqual(left);
        expect(fifo.shift()).toBeUndefined();
      }),
    );
  });
});

describe('RecentSet', () => {
  it('keeps the last ones', () => {
    const set = new RecentSet<number>(2);
    for (const value of [1, 2, 1, 3]) set.add(value);

    expect([1, 2, 3].map((value) => set.delete(value))).toEqual([true, false, true]);
    expect(set.delete(1)).toBe(false);
  });
});
