import { Logger } from '@nestjs/common';
import type { JobEvents, JobFacts } from '../model/events.js';
import type { QueueKind } from '../model/job-event.js';
import type { JobLogger } from '../model/job-context.js';
import { formatDuration } from './format-duration.js';
import { storeTrouble } from './store-trouble.js';

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

/**
 * Writes a line for whatever an operator should know. Never a payload: id, type, attempt and the error's own message only.
 */
export function attachJobLog(events: JobEvents, sink: LogSink, kind: QueueKind): void {
  attachOutcomes(events, sink, namings[kind]);
  attachComplaints(events, sink, namings[kind]);
  attachInterruptions(events, sink, kind);
  events.on('store-down', ({ error }) => {
    sink.error(`${storeTrouble(error)}: ${messageOf(error)}`);
  });
  events.on('store-up', ({ outageMs }) => sink.log(`the job store answers again after ${formatDuration(outageMs)}`));
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
  events.on('expired', ({ job }) => sink.warn(`${name(job)} expired before it could start; it is not run`));
  events.on('snoozed', ({ job, delayMs }) => sink.debug(`${name(job)} was put off for ${formatDuration(delayMs)}`));
  events.on('slow', ({ job, durationMs }) => {
    sink.warn(
      `${name(job)} has been running for ${formatDuration(durationMs)}; give its handler a timeout if it may hang`,
    );
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

function attachInterruptions(events: JobEvents, sink: LogSink, kind: QueueKind): void {
  const name = namings[kind];
  const future =
    kind === 'memory' ? 'what it still does is not waited for' : 'it will run again when its lease has ended';
  events.on('released', ({ job }) => sink.debug(`${name(job)} was given back unfinished; it will run again`));
  events.on('abandoned', ({ job }) => {
    sink.warn(`${name(job)} did not end when the queue stopped; ${future}`);
  });
  events.on('cancelled', ({ job }) => {
    sink.log(`${name(job)} was cancelled; its signal was aborted, and what it still does is not waited for`);
  });
  events.on('lost', ({ job, outcome }) => {
    const what = outcome === undefined ? 'its signal was aborted' : `its outcome '${outcome}' was dropped`;
    sink.warn(`${name(job)} lost its claim, another worker may have it by now; ${what}`);
  });
  events.on('interrupted', ({ id, type, interruptions, state }) => {
    const what = state === 'failed' ? 'failed for good' : 'due again';
    sink.warn(
      `${name({ id, type })} was left by a worker that died or lost it (interruptions: ${interruptions}): ${what}`,
    );
  });
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
