import { PayloadTooLargeError, StoreError } from '../model/errors.js';
import type { NewJob } from '../model/job.js';
import { startTimer } from '../model/timer.js';
import type { JobStore } from '../stores/job-store.js';

/** How long a caller waits for its job to be stored, from its call: a connection that went silent must not hold it up for longer. */
const defaultPatienceMs = 30_000;
const mostRows = 1_000;
/** Characters of payload in one statement; a larger job travels alone. */
const mostCharacters = 1_000_000;

interface Waiting {
  readonly job: NewJob;
  /** Monotonic milliseconds until which its caller waits. */
  readonly dueAt: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: inserts that are asked for while one is on its way share the next statement. Nobody waits for company:
 * an insert that finds the way free leaves at once. Each promise resolves when its own statement has committed.
 *
 * A caller waits for so long from its own call, wherever its job stands by then. A statement that is silent for a third of that holds up those
 * behind it no more. What the database refuses for what it is goes again in halves, so that only the job that is to blame is refused in the end.
 */
export class InsertBatcher {
  private waiting: Waiting[] = [];
  /** Halves of refused batches, the next one last. */
  private halves: (readonly Waiting[])[] = [];
  private readonly underWay = new Set<readonly Waiting[]>();
  private isBusy = false;
  private stopTimer: (() => void) | undefined;

  constructor(
    private readonly store: Pick<JobStore, 'insert'>,
    private readonly patienceMs = defaultPatienceMs,
  ) {}

  /** Stores one job. @throws what the store throws; StoreError when that takes too long */
  insert(job: NewJob): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, dueAt: performance.now() + this.patienceMs, resolve, reject });
      if (!this.isBusy) void this.flush();
    });
  }

  private async flush(): Promise<void> {
    this.isBusy = true;
    while (this.waiting.length + this.halves.length > 0) await this.pass(this.halves.pop() ?? this.take());
    this.isBusy = false;
  }

  /** Resolves when the next batch may leave. */
  private pass(batch: readonly Waiting[]): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = startTimer(this.patienceMs / 3, resolve, 'unref');
      void this.send(batch).finally(() => {
        stopTimer();
        resolve();
      });
    });
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    this.underWay.add(batch);
    this.stopTimer ??= startTimer(this.patienceMs, () => this.sweep(), 'unref');
    try {
      await this.store.insert(batch.map(({ job }) => job));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) this.halve(batch);
      else for (const { reject } of batch) reject(error);
    } finally {
      this.underWay.delete(batch);
      this.rest();
    }
  }

  private halve(batch: readonly Waiting[]): void {
    const middle = batch.length >> 1;
    this.halves.push(batch.slice(middle), batch.slice(0, middle));
    // Its answer may come when it holds up nobody any more.
    if (!this.isBusy) void this.flush();
  }

  /** Ends the wait of those whose time is over. */
  private sweep(): void {
    const now = performance.now();
    const isOver = ({ dueAt }: Waiting): boolean => dueAt <= now;
    for (const batch of this.underWay) {
      for (const { reject } of batch.filter(isOver)) reject(unknownError(this.patienceMs));
      if (batch.every(isOver)) this.underWay.delete(batch);
    }
    for (const { reject } of [...this.halves.flat(), ...this.waiting].filter(isOver)) {
      reject(notStoredError(this.patienceMs));
    }
    const isInTime = (one: Waiting): boolean => !isOver(one);
    this.halves = this.halves.map((half) => half.filter(isInTime)).filter(({ length }) => length > 0);
    this.waiting = this.waiting.filter(isInTime);
    this.stopTimer = undefined;
    const left = [...this.underWay, ...this.halves, this.waiting].flat().filter(isInTime);
    let next = Infinity;
    for (const { dueAt } of left) next = Math.min(next, dueAt);
    if (left.length > 0) this.stopTimer = startTimer(next - now, () => this.sweep(), 'unref');
  }

  private rest(): void {
    if (this.underWay.size + this.halves.length + this.waiting.length > 0) return;
    this.stopTimer?.();
    this.stopTimer = undefined;
  }

  private take(): Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { job } of this.waiting) {
      characters += job.payload.length + (job.context?.length ?? 0);
      if (count > 0 && (count >= mostRows || characters > mostCharacters)) break;
      count += 1;
    }
    if (count === this.waiting.length) {
      const all = this.waiting;
      this.waiting = [];
      return all;
    }
    return this.waiting.splice(0, count);
  }
}

/** Whether it lies with a job, and not with the database: then nothing is stored, and the others may be taken. */
function isRefusal(error: unknown): boolean {
  return error instanceof PayloadTooLargeError || (error instanceof StoreError && error.refuses === 'value');
}

function unknownError(ms: number): StoreError {
  return new StoreError(
    `the database did not answer within ${ms} ms, so it is unknown whether the job is stored: before you enqueue it again, ` +
      'look whether it is there, or enqueue it with a uniqueKey',
  );
}

function notStoredError(ms: number): StoreError {
  return new StoreError(
    `the database did not take the jobs in front of this one within ${ms} ms, so it is not stored: enqueue it again once the ` +
      'database answers',
  );
}
