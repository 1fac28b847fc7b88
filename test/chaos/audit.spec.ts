import { first, key, second, story, type Story } from './story.js';
import { terms } from './terms.js';

/** What the two queues of one process may repeat. */
const most = terms.workers + terms.sideWorkers + 2 * terms.prefetch;
const wellEnded = { how: 'completed', aborted: undefined, error: undefined } as const;
const other = { key: 'other', id: 'other', kind: 'blocking' } as const;
const failure = { how: 'threw', error: 'Error: order always fails' } as const;
const doomed = (): Story =>
  story()
    .asked('doomed')
    .started(10)
    .ended(11, 10, first, failure)
    .started(20, first, 2)
    .ended(21, 20, first, failure)
    .started(30, first, 3)
    .ended(31, 30, first, failure);

/** Accounts that balance. */
const fair: readonly (readonly [title: string, story: () => Story])[] = [
  ['a job that ran once', () => story().asked().started(10).ended(11, 10)],
  [
    'a job that ran again after its process was killed',
    () => story().asked().started(10).killed(20).started(30, second).ended(31, 30, second),
  ],
  [
    'a job that completed just before its process was killed',
    () => story().asked().started(10).ended(11, 10).killed(20).started(30, second).ended(31, 30, second),
  ],
  [
    'a job that completed behind one that held up its process until that was killed',
    () =>
      story()
        .asked()
        .started(10)
        .ended(11, 10)
        .note(1, 1, { ...other, fact: 'asked', fate: 'plain' })
        .note(12, first, { ...other, fact: 'start', run: 'blocks', attempt: 1 })
        .killed(5_000)
        .started(5_100, second)
        .ended(5_101, 5_100, second)
        .note(9_000, second, { ...other, fact: 'start', run: 'blocks again', attempt: 1 })
        .note(9_100, second, { ...other, fact: 'end', run: 'blocks again', ...wellEnded }),
  ],
  [
    'two runs at once, of which the first was stopped for longer than a lease',
    () =>
      story()
        .asked()
        .started(10)
        .note(20, first, { fact: 'harm', what: 'stop', ms: 4_000 })
        .started(3_500, second)
        .ended(4_500, 10)
        .ended(4_600, 3_500, second),
  ],
  [
    'a job that failed and was tried again',
    () => story().asked('flaky').started(10).ended(11, 10, first, failure).started(30, second, 2).ended(31, 30, second),
  ],
  [
    'a job that was given back by a process that was told to end',
    () =>
      story()
        .asked('polite')
        .started(10)
        .ended(11, 10, first, { ...failure, aborted: 'shutdown' })
        .started(30, second)
        .ended(31, 30, second),
  ],
  ['a job that always fails', () => doomed().row({ attempts: 3, last_error: 'order always fails' })],
  ['a job whose transaction committed', () => story().asked('quick', 'commit').order().started(10).ended(11, 10)],
  [
    'a job whose transaction was rolled back',
    () => story().note(1, 1, { fact: 'asked', key, kind: 'quick', fate: 'rollback' }),
  ],
  [
    'a job of which nobody knows whether it was stored',
    () => story().note(1, 1, { fact: 'asked', key, kind: 'quick', fate: 'plain' }),
  ],
  ['a process that was killed', () => story().killed(20)],
  ['as many repeated jobs of a killed process as there may be', () => story().repeated(most)],
  [
    'a job of a killed process that had to wait for its database',
    () =>
      story()
        .asked()
        .started(10)
        .killed(20)
        .note(30, 0, { fact: 'harm', what: 'restart', ms: 4_000 })
        .started(13_200, second)
        .ended(13_201, 13_200, second),
  ],
];

/** Accounts that do not, and what is said of them. */
const foul: readonly (readonly [title: string, story: () => Story, problem: RegExp])[] = [
  ['a lost job', () => story().asked(), /was acknowledged, never ran/],
  ['a job that is gone unfinished', () => story().asked().started(10).killed(20), /gone and no run of it completed/],
  ['a job that is left running', () => story().asked().row({ status: 'running' }), /is left running/],
  [
    'a job that ran twice for nothing',
    () => story().asked().started(10).ended(11, 10).started(30, second).ended(31, 30, second),
    /which nothing interrupted, had completed/,
  ],
  [
    'two runs at once for nothing',
    () => story().asked().started(10).started(30, second).ended(31, 30, second).ended(90, 10),
    /which nothing interrupted, was still under way/,
  ],
  [
    'a run taken from a process that was stopped for too short a time',
    () =>
      story()
        .asked()
        .started(10)
        .note(20, first, { fact: 'harm', what: 'stop', ms: 500 })
        .started(600, second)
        .ended(700, 10)
        .ended(701, 600, second),
    /which nothing interrupted/,
  ],
  [
    'a run that began when its claim was lost already',
    () =>
      story()
        .asked()
        .note(5, first, { fact: 'harm', what: 'stall', ms: 4_000 })
        .started(4_050, second)
        .started(4_060, first)
        .ended(4_061, 4_060)
        .ended(4_100, 4_050, second),
    /which nothing interrupted, was still under way/,
  ],
  [
    'an attempt burnt by a stop',
    () =>
      story()
        .asked('polite')
        .started(10)
        .ended(11, 10, first, { ...failure, aborted: 'shutdown' })
        .started(30, second, 2)
        .ended(31, 30, second),
    /was attempt 2, after 0 failed ones/,
  ],
  [
    'a failure that was not counted',
    () => story().asked('flaky').started(10).ended(11, 10, first, failure).started(30).ended(31, 30),
    /was attempt 1, after 1 failed ones/,
  ],
  [
    'a job that failed for the wrong reason',
    () => doomed().row({ attempts: 3, last_error: 'the worker died' }),
    /should have failed by itself/,
  ],
  [
    'an innocent job that failed',
    () => story().asked().row({ interruptions: terms.maxInterruptions, last_error: 'the worker died' }),
    /should have succeeded and is failed \(the worker died\)/,
  ],
  ['a job that never ends', () => doomed(), /gone and no run of it completed/],
  [
    'a job that was rolled back and ran',
    () => story().asked('quick', 'rollback').started(10).ended(11, 10),
    /was rolled back, and it exists/,
  ],
  [
    'a job without its business row',
    () => story().asked('quick', 'commit').started(10).ended(11, 10),
    /business row does not exist, and the job does/,
  ],
  [
    'a business row without its job',
    () => story().note(1, 1, { fact: 'asked', key, kind: 'quick', fate: 'commit' }).order(),
    /business row exists, and the job does not/,
  ],
  ['a job nobody asked for', () => story().started(10).ended(11, 10), /nobody asked/],
  [
    'a job of a killed process that nobody took up for long',
    () => story().asked().started(10).killed(20).started(13_200, second).ended(13_201, 13_200, second),
    /no job of it ran again until 13180 ms after its death/,
  ],
  [
    'more repeated jobs of a killed process than there may be',
    () => story().repeated(most + 1),
    /45 jobs that had completed in it ran again; at the most 44 may/,
  ],
  [
    'a warning of Node',
    () => story().note(5, first, { fact: 'warning', text: 'MaxListenersExceededWarning' }),
    /Node warned: MaxListenersExceededWarning/,
  ],
  ['a process that ended by itself', () => story().died(20), /ended by itself/],
  [
    'an error that nobody caught',
    () => story().note(5, first, { fact: 'crash', error: 'boom' }),
    /an error nobody caught: boom/,
  ],
  [
    'a stop that took too long',
    () => story().note(5, first, { fact: 'stopping' }).note(9_000, first, { fact: 'stopped' }),
    /a stop took 8995 ms/,
  ],
];

describe('The audit', () => {
  it.each(fair)('finds nothing wrong with %s', (_title, tell) => {
    expect(tell().problems()).toEqual([]);
  });

  it.each(foul)('finds %s', (_title, tell, problem) => {
    expect(tell().problems()).toEqual([expect.stringMatching(problem)]);
  });
});
