import { jest } from '@jest/globals';
import { startTimer } from '../../../lib/model/timer.js';

describe('startTimer', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const thirtyDays = 30 * 86_400_000;

  it('waits out more than 2^31 milliseconds and fires once', () => {
    const fire = jest.fn();
    startTimer(thirtyDays, fire);

    jest.advanceTimersByTime(thirtyDays - 1);
    expect(fire).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
  });

  it('can be stopped in any of its slices', () => {
    const fire = jest.fn();
    const stop = startTimer(thirtyDays, fire);
    jest.advanceTimersByTime(26 * 86_400_000);

    stop();

    jest.advanceTimersByTime(thirtyDays);
    expect(fire).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });
});
