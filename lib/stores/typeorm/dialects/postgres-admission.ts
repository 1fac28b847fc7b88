import type { Clock } from '../../../model/clock.js';
import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { NewJob } from '../../../model/job.js';
import { admitJobs, toHolders, type AdmissionSteps, type Holder } from '../admission.js';
import { chunksOf } from '../chunks.js';
import { toText } from '../job-row.js';
import { errorField } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import type { Turnstile } from '../turnstile.js';
import {
  holdersStatement,
  insertAbsentStatement,
  replaceStatement,
  slotHolderStatement,
  takeSlotStatement,
  type AdmissionExtras,
} from './postgres-admission-statements.js';
import { inPgTransaction, type PgPool, type PgQueryable, type PgResult } from './postgres-pool.js';
import { insertStatement } from './postgres-statements.js';
import type { PgStatement } from './postgres-values.js';

/** Whatever takes a text with its values to the server. */
interface AdmissionClient {
  query(text: string, values?: readonly unknown[]): Promise<PgResult>;
}

export interface PgAdmissionParts {
  readonly names: SqlNames;
  readonly channelFor: (jobs: readonly NewJob[]) => string | undefined;
  readonly clock: Clock;
}

/** How long one of our own statements waits for somebody's open transaction. Then it makes room for others, and is said again. */
const lockPatienceMs = 500;
const serializationFailure = '40001';
const savepoint = 'nestjs_jobs_admit';
const innerSavepoint = 'nestjs_jobs_absent';

/**
 * In statements of our own: one by itself for one job, in a transaction for several.
 *
 * @param lane Passed by each of them.
 */
export function admitAlone(
  { pool, lane }: { readonly pool: PgPool; readonly lane: Turnstile },
  parts: PgAdmissionParts,
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  const run = (client: AdmissionClient): Promise<readonly EnqueueResult[]> => admitOn(client, parts, jobs);
  const isSingle = jobs.length === 1 && jobs[0]?.throttle === undefined;
  if (!isSingle) return lane.pass(() => inPgTransaction(pool, run));
  return run({ query: (text, values) => lane.pass(() => pool.query(text, values)) });
}

/** On a connection of ours; where there are several statements, in the transaction that is open on it. */
export function admitOn(
  client: AdmissionClient,
  parts: PgAdmissionParts,
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  return admitJobs(jobs, new PgAdmission({ client, committed: undefined }, parts, lockPatienceMs), parts.clock);
}

/** The ways to the database from within a transaction of the app's. */
export interface WaysWithin {
  /** Its own connection. */
  readonly client: PgQueryable;
  /** A connection that sees what is committed by now. */
  readonly committed: PgQueryable;
}

/** In the transaction that is open on the client. Where something fails it is as it was before. */
export async function admitWithin(
  { client, committed }: WaysWithin,
  parts: PgAdmissionParts,
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  const { rows } = await client.query("SELECT current_setting('transaction_isolation') AS isolation");
  const isFresh = rows[0]?.['isolation'] === 'read committed';
  const steps = new PgAdmission({ client, committed: isFresh ? undefined : committed }, parts);
  const run = (): Promise<readonly EnqueueResult[]> => admitJobs(jobs, steps, parts.clock);
  const isSingle = jobs.length === 1 && jobs[0]?.throttle === undefined;
  return isFresh && isSingle ? run() : withSavepoint(client, savepoint, run);
}

async function withSavepoint<T>(client: AdmissionClient, name: string, run: () => Promise<T>): Promise<T> {
  await client.query(`SAVEPOINT ${name}`);
  try {
    const result = await run();
    await client.query(`RELEASE SAVEPOINT ${name}`);
    return result;
  } catch (error) {
    // On a connection that broke there is nothing to go back to, and the first error is the one to tell.
    await client.query(`ROLLBACK TO SAVEPOINT ${name}`).catch(() => undefined);
    throw error;
  }
}

class PgAdmission implements AdmissionSteps {
  private readonly client: AdmissionClient;
  /** Where the transaction sees the table as it was when it began: a connection that sees it as it is. */
  private readonly committed: AdmissionClient | undefined;
  /** The jobs whose keys are held by others that such a transaction cannot see. Whatever else is in their way it sees as it is. */
  private readonly unseen = new Set<string>();

  constructor(
    ways: { readonly client: AdmissionClient; readonly committed: AdmissionClient | undefined },
    private readonly parts: PgAdmissionParts,
    private readonly patienceMs?: number,
  ) {
    this.client = ways.client;
    this.committed = ways.committed;
  }

  async insert(jobs: readonly NewJob[]): Promise<void> {
    const { names, channelFor } = this.parts;
    for (const chunk of chunksOf(jobs)) await this.say(insertStatement(names.table, chunk, channelFor(chunk)));
  }

  async insertAbsent(jobs: readonly NewJob[]): Promise<ReadonlySet<string>> {
    const stored = new Set<string>();
    for (const chunk of this.committed === undefined ? chunksOf(jobs) : jobs.map((job) => [job])) {
      for (const id of await this.insertChunk(chunk)) stored.add(id);
    }
    return stored;
  }

  async holders(jobs: readonly NewJob[]): Promise<ReadonlyMap<string, Holder>> {
    const { table } = this.parts.names;
    const isUnseen = ({ id }: NewJob): boolean => this.unseen.has(id);
    const [unseen, seen] = [jobs.filter(isUnseen), jobs.filter((job) => !isUnseen(job))];
    const looks = [
      { client: this.committed ?? this.client, jobs: unseen },
      { client: this.client, jobs: seen },
    ].filter((look) => look.jobs.length > 0);
    const found: (readonly [string, Holder])[] = [];
    for (const look of looks)
      found.push(...toHolders((await say(look.client, holdersStatement(table, look.jobs))).rows));
    return new Map(found);
  }

  async replace(id: string, job: NewJob): Promise<boolean> {
    const { rows } = await this.say(replaceStatement(this.parts.names.table, id, job, this.extras([job])));
    return rows.length > 0;
  }

  async takeSlot(job: NewJob): Promise<string> {
    const { slots } = this.parts.names;
    const look = slotHolderStatement(slots, job);
    // Most throttled jobs are turned away here, without a lock.
    let found = await say(this.committed ?? this.client, look);
    while (found.rows[0] === undefined) {
      found = await this.say(takeSlotStatement(slots, job, this.extras([])));
      if (found.rows[0] === undefined) found = await this.say(look);
    }
    return toText(found.rows[0]['job_id']);
  }

  private async insertChunk(jobs: readonly NewJob[]): Promise<readonly string[]> {
    const statement = insertAbsentStatement(this.parts.names.table, jobs, this.extras(jobs));
    const insert = async (): Promise<readonly string[]> =>
      (await this.say(statement)).rows.map((row) => toText(row['id']));
    if (this.committed === undefined) return insert();
    for (const { id } of jobs) this.unseen.delete(id);
    try {
      return await withSavepoint(this.client, innerSavepoint, insert);
    } catch (error) {
      if (errorField(error, 'code') !== serializationFailure) throw error;
      for (const { id } of jobs) this.unseen.add(id);
      return [];
    }
  }

  private extras(jobs: readonly NewJob[]): AdmissionExtras {
    return { channel: this.parts.channelFor(jobs), patienceMs: this.patienceMs };
  }

  private say(statement: PgStatement): Promise<PgResult> {
    return say(this.client, statement);
  }
}

function say(client: AdmissionClient, { text, values }: PgStatement): Promise<PgResult> {
  return client.query(text, values);
}
