import { setImmediate } from 'node:timers/promises';
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
  const crew = new Crew({
    executor,
    settler,
    clock,
    seat,
    isOver: () => false,
    prefetch: 2,
    onEnded: () => undefined,
  });
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

  it('starts no more attempts than a crash may repeat while the store knows nothing of those before', async () => {
    const { crew, settler } = setUp();
    const runs: string[] = [];
    const job = { token: '', type: 'work', payload: 'null', attempts: 0, maxRetries: 0, interruptions: 0 };
    const attempts = Array.from({ length: 6 }, (_, n) => {
      const run = async (): Promise<void> => void runs.push(String(n));
      return new Attempt({ ...job, id: String(n), run }, 0, { makeLogger: () => silent });
    });
    crew.open(1);
    for (const attempt of attempts) crew.admit(attempt, false);
    crew.fill();
    await setImmediate();

    // One for the slot, and two beside.
    expect(runs).toEqual(['0', '1', '2']);
    const batch = settler.take(2);
    crew.fill();
    await setImmediate();
    expect([runs.length, crew.keep(1)]).toEqual([3, 0]);
    crew.keep(0);
    settler.stored(batch, []);
    crew.fill();
    await setImmediate();

    expect(runs).toEqual(['0', '1', '2', '3', '4']);
  });
});
