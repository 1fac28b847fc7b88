import { jest } from '@jest/globals';
import { Alarm } from '../../../../lib/stores/typeorm/alarm.js';

describe('Alarm', () => {
  let rings: number[];
  let alarm: Alarm;
  const clock = { now: () => Date.now(), monotonic: () => Date.now() };

  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    rings = [];
    alarm = new Alarm(clock, () => rings.push(Date.now()));
  });

  afterEach(() => {
    alarm.stop();
    jest.useRealTimers();
  });

  it('rings at each moment, in whatever order they were told, and never early', () => {
    for (const moment of [300, 20, 150, 20, 21]) alarm.set(moment);

    jest.advanceTimersByTime(1_000);

    expect(rings).toEqual([25, 155, 305]);
  });

  it('rings once for moments that have passed', () => {
    jest.setSystemTime(5_000);
    alarm.set(10);
    alarm.set(20);

    jest.advanceTimersByTime(100);

    expect(rings).toHaveLength(1);
  });

  it('remembers the next thousand moments and no more', () => {
    for (let moment = 2_000; moment > 0; moment -= 1) alarm.set(moment * 10);

    jest.advanceTimersByTime(100_000);

    expect(rings).toHaveLength(1_000);
    expect(rings.at(-1)).toBe(10_005);
  });

  it('rings at moments that no timer reaches', () => {
    const year = 365 * 86_400_000;
    alarm.set(year);

    jest.advanceTimersByTime(year - 10);
    expect(rings).toEqual([]);
    jest.advanceTimersByTime(20);

    expect(rings).toHaveLength(1);
  });

  it('does not ring once it is stopped', () => {
    alarm.set(10);
    alarm.stop();

    jest.advanceTimersByTime(100);

    expect(rings).toEqual([]);
  });
});
