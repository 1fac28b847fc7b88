import { Logger } from '@nestjs/common';
import { StoreError } from '../model/errors.js';
import type { JobEvents, JobFacts } from '../model/events.js';
import type { QueueKind } from '../model/job-event.js';
import type { JobLogger } from '../model/job-context.js';
import { describeError } from '../model/failure.js';
import { formatDuration } from './format-duration.js';
import { LineBudget, type LineKind } from './line-budget.js';

/** Where log lines go; Nest's `Logger` is one. */
export interface LogSink {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string, stack?: string): void;
}

/** The logger of the library, under the context `Jobs`, or `Jobs:<name>` for a named instance. */
export function jobsLogger(name?: string): LogSink {
  return new Logger(name === undefined ? 'Jobs' : `Jobs:${name}`);
}

type Naming = (job: Pick<JobFacts, 'id' | 'type'>) => string;

/** Memory jobs have no id that anybody could look up, and no second life. */
const namings: Readonly<Record<QueueKind, Naming>> = {
  memory: ({ type }) => `'${type}'`,
  persistent: ({ type, id }) => `persistent job '${type}' (${id})`,
};

/** Of what one cause may do to many jobs at once, so many are told one by one. */
const mostLines = 10;

/** The log of one queue. */
export interface JobLog {
  /** Writes what it would sum up later: to be called when the queue has stopped. */
  readonly flush: () => void;
}

/**
 * Writes a line for whatever an operator should know. Never a payload: id, type, attempt and the error's own message only.
 */
export function attachJobLog(events: JobEvents, sink: LogSink, kind: QueueKind): JobLog {
  const budget = new LineBudget(sink);
  attachOutcomes(events, sink, namings[kind]);
  attachComplaints(events, sink, namings[kind]);
  attachDelays(events, budget, kind);
  attachInterruptions(events, budget, kind);
  attachClaims(events, budget, kind);
  attachQueue(events, sink);
  return { flush: () => budget.flush() };
}

function attachQueue(events: JobEvents, sink: LogSink): void {
  events.on('store-down', ({ error }) => {
    const isRefused = error instanceof StoreError && error.refuses === 'request';
    const what = isRefused ? 'refuses what it is asked' : 'does not answer';
    sink.error(`the job store ${what}, trying again until it does${isRefused ? ' not' : ''}: ${describeError(error)}`);
  });
  events.on('store-up', ({ outageMs }) => sink.log(`the job store answers again after ${formatDuration(outageMs)}`));
  events.on('draining', ({ running, timeoutMs }) => {
    const jobs = running === 1 ? '1 job still runs' : `${running} jobs still run`;
    sink.log(`stopping: ${jobs}, and may take up to ${formatDuration(timeoutMs)} more`);
  });
  events.on('unknown-types', ({ types }) => {
    const list = types.map((type) => `'${type}'`).join(', ');
    sink.warn(`jobs wait for a process that knows them; no handler here is registered for job type ${list}`);
  });
  events.on('unsettled', ({ count }) => {
    sink.error(
      `stopped while the job store did not answer: ${count} finished job(s) will run again when their leases end`,
    );
  });
  events.on('dropped', ({ count }) => sink.warn(`stopped with ${count} job(s) in memory; they are lost`));
}

function attachOutcomes(events: JobEvents, sink: LogSink, name: Naming): void {
  events.on('retried', ({ job, error, delayMs }) => {
    const attempt = `attempt ${job.attempts + 1}/${job.maxRetries + 1}`;
    sink.warn(`${name(job)} failed (${attempt}): ${error} — retrying in ${formatDuration(delayMs)}`);
  });
  events.on('failed', ({ job, error, stack }) => {
    sink.error(`${name(job)} failed permanently after ${job.attempts + 1} attempt(s): ${error}`, stack);
  });
  events.on('snoozed', ({ job, delayMs }) => sink.debug(`${name(job)} was put off for ${formatDuration(delayMs)}`));
}

function attachDelays(events: JobEvents, budget: LineBudget, kind: QueueKind): void {
  const name = namings[kind];
  const expired = manyOf(kind, 'warn', 'expired before they could start; they are not run');
  events.on('expired', ({ job }) => {
    budget.tell(expired, () => `${name(job)} expired before it could start; it is not run`);
  });
  const slow = manyOf(kind, 'warn', 'have been running for a long time');
  events.on('slow', ({ job, durationMs }) => {
    const told = formatDuration(durationMs);
    budget.tell(slow, () => `${name(job)} has been running for ${told}; give its handler a timeout if it may hang`);
  });
}

/** Code that does this once does it each time, so it is said once for each job type; the history of a job has it each time. */
function attachComplaints(events: JobEvents, sink: LogSink, name: Naming): void {
  const told = new Set<string>();
  events.on('complaint', ({ job, about, reason }) => {
    const key = `${about} ${job.type}`;
    if (told.has(key)) return;
    told.add(key);
    const what =
      about === 'backoff' ? 'waits by its other backoff settings' : 'completed, but its result was not stored';
    sink.warn(`${name(job)} ${what}: ${reason} (said once for each job type)`);
  });
}

function attachInterruptions(events: JobEvents, budget: LineBudget, kind: QueueKind): void {
  const name = namings[kind];
  const future =
    kind === 'memory' ? 'what it still does is not waited for' : 'it will run again when its lease has ended';
  const released = manyOf(kind, 'debug', 'were given back unfinished; they will run again');
  events.on('released', ({ job }) => {
    budget.tell(released, () => `${name(job)} was given back unfinished; it will run again`);
  });
  const abandoned = manyOf(kind, 'warn', 'did not end when the queue stopped');
  events.on('abandoned', ({ job }) => {
    budget.tell(abandoned, () => `${name(job)} did not end when the queue stopped; ${future}`);
  });
  const cancelled = manyOf(kind, 'log', 'were cancelled');
  events.on('cancelled', ({ job }) => {
    const rest = 'its signal was aborted, and what it still does is not waited for';
    budget.tell(cancelled, () => `${name(job)} was cancelled; ${rest}`);
  });
}

function attachClaims(events: JobEvents, budget: LineBudget, kind: QueueKind): void {
  const name = namings[kind];
  const lost = manyOf(kind, 'warn', 'lost their claims, other workers may have them by now');
  const waiting: LineKind = {
    level: 'warn',
    most: 0,
    sumUp: (count) =>
      `${count} ${kind} job(s) that waited here to be run lost their claims, other workers may have them by now`,
  };
  events.on('lost', ({ job, outcome, hasBegun }) => {
    const what = outcome === undefined ? 'its signal was aborted' : `its outcome '${outcome}' was dropped`;
    const line = (): string => `${name(job)} lost its claim, another worker may have it by now; ${what}`;
    budget.tell(hasBegun ? lost : waiting, line);
  });
  const left = 'were left by workers that died or lost them';
  const ends = { pending: 'due again', failed: 'failed for good' } as const;
  const interrupted = {
    pending: manyOf(kind, 'warn', `${left}: ${ends.pending}`),
    failed: manyOf(kind, 'warn', `${left}: ${ends.failed}`),
  };
  events.on('interrupted', ({ id, type, interruptions, state }) => {
    const what = `was left by a worker that died or lost it (interruptions: ${interruptions})`;
    budget.tell(interrupted[state], () => `${name({ id, type })} ${what}: ${ends[state]}`);
  });
}

function manyOf(kind: QueueKind, level: LineKind['level'], what: string): LineKind {
  return { level, most: mostLines, sumUp: (count) => `and ${count} more ${kind} job(s) ${what}` };
}

/** The logger of one attempt. Lines carry the job's type and id. */
export function attemptLogger(sink: LogSink, job: Pick<JobFacts, 'id' | 'type'>): JobLogger {
  const line = (message: string): string => `[${job.type} ${job.id}] ${message}`;
  return {
    debug: (message) => sink.debug(line(message)),
    log: (message) => sink.log(line(message)),
    warn: (message) => sink.warn(line(message)),
    error: (message) => sink.error(line(message)),
  };
}
