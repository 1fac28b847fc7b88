import { Attempt } from '../../../lib/execution/attempt.js';
import { systemClock } from '../../../lib/model/clock.js';
import { JobEvents } from '../../../lib/model/events.js';
import type { Outcome } from '../../../lib/model/outcome.js';
import { Settler, settlementsOf } from '../../../lib/runtime/settler.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

function waitingAttempt(): Attempt {
  const job = { id: '1', token: 't', type: 'work', payload: '', attempts: 2, maxRetries: 3, interruptions: 0 };
  return new Attempt(job, 0, { makeLogger: () => silent });
}

function attempt(): Attempt {
  const made = waitingAttempt();
  made.begin(systemClock.monotonic());
  return made;
}

function kept(characters: number): Outcome {
  return { kind: 'completed', keep: { keepMs: 1, result: 'x'.repeat(characters) } };
}

describe('Settler', () => {
  const setUp = (): Settler => new Settler(new JobEvents(), undefined, systemClock);

  it.each([
    ['results', kept(65_000), 30],
    ['errors', { kind: 'failed', error: 'x'.repeat(4_000) } as const, 500],
    ['heavier ones than fit', kept(3_000_000), 1],
  ])('hands out batches that a server can take, of %s', (_what, outcome, expected) => {
    const settler = setUp();
    for (let count = 0; count < 1_200; count += 1) settler.add(attempt(), { outcome });

    const sizes: number[] = [];
    while (settler.size > 0) sizes.push(settler.take(2_000).length);

    expect(sizes.slice(0, -1).every((size) => size === expected)).toBe(true);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_200);
  });

  it('weighs again what was put back', () => {
    const settler = setUp();
    for (let count = 0; count < 60; count += 1) settler.add(attempt(), { outcome: kept(65_000) });

    settler.putBack(settler.take(2_000));

    expect([settler.take(2_000).length, settler.take(2_000).length, settler.size]).toEqual([30, 30, 0]);
  });

  it('hands out light ones all at once', () => {
    const settler = setUp();
    for (let count = 0; count < 1_200; count += 1) settler.add(attempt(), { outcome: { kind: 'completed' } });

    expect(settler.take(2_000)).toHaveLength(1_200);
  });
});

describe('settlementsOf', () => {
  it.each<[Outcome, string | undefined]>([
    [{ kind: 'completed' }, undefined],
    [kept(1), '"n":3,"ms":5,"end":"completed"}\n'],
    [{ kind: 'retried', delayMs: 1, error: 'boom' }, '"n":3,"ms":5,"end":"retried","error":"boom"}\n'],
    [{ kind: 'snoozed', delayMs: 1, reason: 'later' }, '"n":3,"ms":5,"end":"snoozed","error":"later"}\n'],
    [{ kind: 'abandoned' }, '"n":3,"ms":5,"end":"abandoned"}\n'],
  ])('has a line for the history of %j where its row stays', (outcome, line) => {
    const begun = attempt();
    const ended = { attempt: begun, execution: { outcome }, endedAt: begun.startedAt + 5, isRepeat: false };

    expect(settlementsOf([ended])[0]?.line).toBe(line === undefined ? undefined : `,${line}`);
  });

  it('has none for a job that was given back before it began', () => {
    const execution = { outcome: { kind: 'released', delayMs: 0 } } as const;
    const settlementOf = (given: Attempt) =>
      settlementsOf([{ attempt: given, execution, endedAt: systemClock.monotonic(), isRepeat: false }])[0];

    expect(settlementOf(attempt())?.line).toMatch(/"end":"released"/);
    expect(settlementOf(waitingAttempt())?.line).toBeUndefined();
  });
});
