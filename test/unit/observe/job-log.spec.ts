import { jest } from '@jest/globals';
import { Attempt } from '../../../lib/execution/attempt.js';
import { systemClock } from '../../../lib/model/clock.js';
import { StoreError } from '../../../lib/model/errors.js';
import { JobEvents } from '../../../lib/model/events.js';
import { attachJobLog, type JobLog } from '../../../lib/observe/job-log.js';
import { LeaseKeeper } from '../../../lib/runtime/lease-keeper.js';
import { aClaimedJob } from '../../support/a-job.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { ScriptedStore } from '../../support/scripted-store.js';

describe('the log of a queue', () => {
  let events: JobEvents;
  let sink: RecordingSink;
  let log: JobLog;

  beforeEach(() => {
    jest.useFakeTimers();
    events = new JobEvents();
    sink = new RecordingSink();
    log = attachJobLog(events, sink, 'persistent');
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  function leave(count: number): void {
    for (let n = 0; n < count; n += 1) {
      events.emit('interrupted', { id: `job-${n}`, type: 'work', interruptions: 1, state: 'pending' });
    }
  }

  it('names the first ten jobs that dead workers left, and sums up the others', async () => {
    leave(1_000);
    expect(sink.lines).toHaveLength(10);

    await jest.advanceTimersByTimeAsync(60_000);

    expect(sink.lines).toHaveLength(11);
    expect(sink.lines[9]).toMatch(/'work' \(job-9\) was left by a worker that died/);
    expect(sink.lines[10]).toBe(
      'warn: and 990 more persistent job(s) were left by workers that died or lost them: due again',
    );
  });

  it('says one line each few seconds while more come, and names jobs again after some peace', async () => {
    for (let second = 0; second < 20; second += 1) {
      leave(100);
      await jest.advanceTimersByTimeAsync(1_000);
    }
    await jest.advanceTimersByTimeAsync(60_000);
    expect(sink.lines.length).toBeLessThanOrEqual(10 + 5);
    const before = sink.lines.length;

    leave(1);

    expect(sink.lines.slice(before)).toEqual([expect.stringContaining('(job-0)')]);
  });

  it('does not let those that are due again hide one that has failed for good', () => {
    leave(1_000);

    events.emit('interrupted', { id: 'last', type: 'work', interruptions: 3, state: 'failed' });

    expect(sink.lines.at(-1)).toMatch(/\(last\).*failed for good/);
  });

  it('sums up jobs that lost their claims while they only waited, and names one that ran', async () => {
    const store = new ScriptedStore();
    const keeper = new LeaseKeeper({ store, events, clock: systemClock, leaseMs: 3_000 });
    const attempts = Array.from({ length: 1_000 }, (_unused, n) => {
      const job = aClaimedJob({ id: `job-${n}`, token: `token-${n}` });
      return new Attempt(job, systemClock.monotonic(), { makeLogger: () => sink });
    });
    attempts[0]?.begin(systemClock.monotonic());
    for (const attempt of attempts) keeper.hold(attempt);

    // None of them is known to the store.
    await jest.advanceTimersByTimeAsync(60_000);
    await keeper.stop();

    expect(sink.lines).toEqual([
      expect.stringMatching(/^warn: .*\(job-0\) lost its claim, another worker may have it by now; its signal/),
      'warn: 999 persistent job(s) that waited here to be run lost their claims, other workers may have them by now',
    ]);
  });

  it('tells a store that refuses from one that does not answer', () => {
    events.emit('store-down', { error: new StoreError('could not claim jobs: no').refusing('request') });
    events.emit('store-down', { error: new StoreError('could not claim jobs: gone') });

    expect(sink.lines).toEqual([
      'error: the job store refuses what it is asked, trying again until it does not: could not claim jobs: no',
      'error: the job store does not answer, trying again until it does: could not claim jobs: gone',
    ]);
  });

  it('says for how many jobs a stop waits, and for how long', () => {
    events.emit('draining', { running: 1, timeoutMs: 20_000 });
    events.emit('draining', { running: 3, timeoutMs: 500 });

    expect(sink.lines).toEqual([
      'log: stopping: 1 job still runs, and may take up to 20s more',
      'log: stopping: 3 jobs still run, and may take up to 500ms more',
    ]);
  });

  it('keeps nothing back when the queue has stopped', () => {
    leave(12);

    log.flush();

    expect(sink.lines.at(-1)).toContain('and 2 more');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('bounds what a driver says of an outage', () => {
    events.emit('store-down', { error: new Error('x'.repeat(5_000_000)) });

    expect(sink.lines[0]?.length).toBeLessThan(5_000);
  });
});
