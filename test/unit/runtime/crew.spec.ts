import { Attempt } from '../../../lib/execution/attempt.js';
import { Executor } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { JobEvents } from '../../../lib/model/events.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';
import { Crew } from '../../../lib/runtime/crew.js';
import { Settler } from '../../../lib/runtime/settler.js';
import { SuspectSeat } from '../../../lib/runtime/suspect-seat.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

function setUp(): { crew: Crew; seat: SuspectSeat; settler: Settler } {
  const clock = { now: () => 0, monotonic: () => 0 };
  const settler = new Settler(new JobEvents(), undefined, clock);
  const seat = new SuspectSeat();
  const executor = new Executor(new HandlerRegistry(), { backoff: defaultBackoff, timeout: 0 });
  const crew = new Crew({ executor, settler, clock, seat, isOver: () => false, onEnded: () => undefined });
  return { crew, seat, settler };
}

function suspect(id: string): Attempt {
  const job = { id, token: id, type: 'work', payload: 'null', attempts: 0, maxRetries: 0, interruptions: 2 };
  return new Attempt({ ...job, run: () => new Promise(() => undefined) }, 0, { makeLogger: () => silent });
}

describe('Crew', () => {
  it('keeps a suspect from starting until the one before it is settled', () => {
    const { crew, seat, settler } = setUp();
    crew.open(1);
    const [first, second] = [suspect('a'), suspect('b')];
    crew.admit(first, true);
    crew.admit(second, true);
    crew.fill();

    expect(crew.attempts()).toEqual([]);
    crew.stored(settler.take(10));
    crew.fill();

    expect(crew.attempts()).toEqual([first]);
    expect(seat.isTaken).toBe(true);
  });

  it('does not wait for the outcome of a suspect whose claim is lost', () => {
    const { crew, seat } = setUp();
    crew.open(0);
    crew.open(1);
    const busy = suspect('busy');
    crew.admit(busy, false);
    crew.fill();
    const lost = suspect('lost');
    crew.admit(lost, true);
    lost.isLost = true;

    crew.giveBackStale(1);

    expect(seat.isTaken).toBe(false);
    expect(seat.isClear).toBe(true);
  });
});
