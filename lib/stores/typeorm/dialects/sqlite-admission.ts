import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import { answersOf, groupRivals, type Decision, type Rivals } from '../../rivals.js';
import { expiryAt, extraColumnsOf } from '../extra-columns.js';
import { toNewRow, toText, type NewRow } from '../job-row.js';
import { slotOf } from '../slot.js';
import type { SqliteStatements } from './sqlite-statements.js';

/**
 * Jobs with conditions on one connection, synchronous; whoever calls it sees to the transaction. The first statement that writes takes the lock of the
 * file, so that what is looked at after it is true until the transaction ends.
 */
export class SqliteAdmission {
  constructor(private readonly statements: SqliteStatements) {}

  admit(jobs: readonly NewJob[], now: number): readonly EnqueueResult[] {
    const decided = new Map<Rivals, Decision>();
    for (const rivals of groupRivals(jobs)) decided.set(rivals, this.decide(rivals.lead, now));
    return answersOf(jobs, decided);
  }

  /** Stores jobs that have no key, or of which each has another. Says how many it did: not those whose key is taken. */
  insert(jobs: readonly NewJob[], now: number): number {
    const rows = jobs.map(toNewRow);
    const extras = extraColumnsOf(rows);
    const insert = this.statements.insert(extras);
    let stored = 0;
    for (const row of rows) {
      const values = extras.map(({ valueAt }) => valueAt(row, now));
      stored += insert.run(row.id, row.type, row.payload, row.maxRetries, dueAt(row, now), now, ...values).changes;
    }
    return stored;
  }

  private decide(job: NewJob, now: number): Decision {
    if (job.throttle !== undefined) return this.throttle(job, now);
    if (this.insert([job], now) > 0) return { id: job.id, outcome: 'stored' };
    const holder = this.statements.get('holder').get(job.type, job.uniqueKey ?? '');
    const id = toText(holder?.['id']);
    if (holder?.['status'] === JobState.Running) return { id, outcome: 'running' };
    // What has expired will never run; to leave it to that would lose this job too.
    const isExpired = typeof holder?.['expires_at'] === 'number' && holder['expires_at'] <= now;
    if (job.onDuplicate !== 'replace' && !isExpired) return { id, outcome: 'waiting' };
    const row = toNewRow(job);
    this.statements.get('replace').run(row.payload, row.maxRetries, dueAt(row, now), expiryAt(row, now), row.tags, id);
    return { id, outcome: 'replaced' };
  }

  private throttle(job: NewJob, now: number): Decision {
    const { slot, windowMs } = slotOf(job);
    const holder = this.statements.get('slotHolder').get(job.type, slot, now);
    if (holder !== undefined) return { id: toText(holder['job_id']), outcome: 'throttled' };
    this.statements.get('takeSlot').run(job.type, slot, job.id, now + windowMs);
    this.insert([job], now);
    return { id: job.id, outcome: 'stored' };
  }
}

function dueAt({ runAt, delayMs }: NewRow, now: number): number {
  return runAt ?? now + delayMs;
}
