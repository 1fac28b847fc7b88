import type { Attempt } from '../execution/attempt.js';
import type { NotePart } from '../execution/attempt-notes.js';
import type { JobEvents } from '../model/events.js';
import type { JobNote, JobStore } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';

/** Rest between two writes. */
const restMs = 1_000;
const answerMs = 30_000;
/** Attempts in one statement: their logs may be long. */
const mostTogether = 50;

interface Written {
  readonly attempt: Attempt;
  readonly part: NotePart;
}

/**
 * Brings what handlers say while they run into the store: all of a process in one statement, at most once a second, so that a handler which
 * reports each of a million rows costs no more than one that reports seldom. No handler waits for it, and no outcome: what is
 * left when an attempt ends goes with its outcome.
 */
export class NoteWriter {
  private readonly noted = new Set<Attempt>();
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private isAsleep = true;

  constructor(
    private readonly store: Pick<JobStore, 'note'>,
    private readonly events: JobEvents,
  ) {}

  /** This attempt has something new to say. */
  readonly add = (attempt: Attempt): void => {
    this.noted.add(attempt);
    this.loop.start();
    if (this.isAsleep) this.loop.wake();
  };

  async stop(): Promise<void> {
    this.noted.clear();
    await this.loop.stop();
  }

  private async turn(): Promise<number> {
    const round = [...this.noted];
    this.noted.clear();
    this.isAsleep = round.length === 0;
    if (this.isAsleep) return Infinity;
    for (let start = 0; start < round.length; start += mostTogether) {
      await this.write(round.slice(start, start + mostTogether));
    }
    return restMs;
  }

  private async write(attempts: readonly Attempt[]): Promise<void> {
    const batch: Written[] = [];
    for (const attempt of attempts) {
      const part = isOpen(attempt) ? attempt.notes?.pending() : undefined;
      if (part !== undefined) batch.push({ attempt, part });
    }
    if (batch.length === 0) return;
    try {
      await withDeadline(this.store.note(batch.map(toNote)), answerMs);
      for (const { attempt, part } of batch) this.written(attempt, part);
    } catch {
      // The worker reports the outage; what was to be written is still there.
      for (const { attempt } of batch) this.noted.add(attempt);
    }
  }

  private written(attempt: Attempt, part: NotePart): void {
    // An outcome that is on its way carries it too, and tells of it.
    if (!isOpen(attempt)) return;
    if (attempt.notes?.stored(part) === true && part.told !== undefined) tellProgress(this.events, attempt, part);
  }
}

/** Tells listeners how far a job has come. */
export function tellProgress(events: JobEvents, { job }: Attempt, { told }: NotePart): void {
  if (told !== undefined) events.emit('progress', { job, fraction: told.fraction, note: told.note });
}

function isOpen({ hasEnded, isLost }: Attempt): boolean {
  return !hasEnded && !isLost;
}

function toNote({ attempt: { job }, part }: Written): JobNote {
  return { id: job.id, token: job.token, progress: part.progress, log: part.log };
}
