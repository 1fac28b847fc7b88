import { Attempt } from '../../../lib/execution/attempt.js';
import { SuspectSeat } from '../../../lib/runtime/suspect-seat.js';

const attempt = (id: string): Attempt =>
  new Attempt({ id, token: id, type: 'work', payload: 'null', attempts: 0, maxRetries: 0, interruptions: 2 }, 0, {
    makeLogger: () => ({ debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined }),
  });

describe('SuspectSeat', () => {
  it('is taken until the one on it leaves', () => {
    const seat = new SuspectSeat();
    const suspect = attempt('a');

    seat.take(suspect);
    expect(seat.isTaken).toBe(true);

    seat.leave(suspect, 'gone');
    expect(seat.isTaken).toBe(false);
    expect(seat.isClear).toBe(true);
  });

  it('is not clear until the one that left is settled', () => {
    const seat = new SuspectSeat();
    const suspect = attempt('a');
    seat.take(suspect);

    seat.leave(suspect, 'to be settled');
    expect(seat.isClear).toBe(false);

    seat.settled(attempt('b'));
    expect(seat.isClear).toBe(false);

    seat.settled(suspect);
    expect(seat.isClear).toBe(true);
  });
});
