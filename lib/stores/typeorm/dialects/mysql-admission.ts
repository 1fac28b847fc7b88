import type { Clock } from '../../../model/clock.js';
import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { NewJob } from '../../../model/job.js';
import { scopedKey } from '../../../model/unique-key.js';
import { admitJobs, toHolders, type AdmissionSteps, type Holder } from '../admission.js';
import { toText } from '../job-row.js';
import { answerMs } from '../own-data-source.js';
import { errorField, retryPassing } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import type { Turnstile } from '../turnstile.js';
import {
  holdersStatement,
  presentStatement,
  replaceStatement,
  slotHolderStatement,
  takeSlotStatement,
} from './mysql-admission-statements.js';
import { withSavepoint, type MysqlInserter } from './mysql-inserter.js';
import { noTimeout, type MysqlConnection, type MysqlConnections, type MysqlResult } from './mysql-pool.js';
import { insertStatement, run, type MysqlStatement, type TextBinding } from './mysql-statements.js';

export interface MysqlAdmissionParts {
  readonly names: SqlNames;
  /** Our own. */
  readonly connections: MysqlConnections;
  readonly inserter: MysqlInserter;
  readonly clock: Clock;
}

/** A deadlock, whose victim was rolled back whole. */
const deadlock = 1213;
const lockWaitTimeout = 1205;
/** How long our own statements are said again that wait for somebody's open transaction; then nothing is stored. */
const patienceMs = 8_000;
/** Each of them makes room for others soon. MariaDB alone reads that kind of comment; MySQL waits as long as on our other statements. */
const impatient = '/*M!100300 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */ ';

/**
 * In statements of our own: one by itself for one job, in a transaction for several.
 *
 * @param parts.lane Passed by each of them.
 */
export function admitAlone(
  connections: MysqlConnections,
  { lane, ...parts }: MysqlAdmissionParts & { readonly lane: Turnstile },
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  const admit = (use: Use): Promise<readonly EnqueueResult[]> => admitBy(use, parts, jobs);
  const isSingle = jobs.length === 1 && jobs[0]?.throttle === undefined;
  const givesUpAt = parts.clock.monotonic() + patienceMs;
  const isPassing = (error: unknown): boolean => {
    const code = Number(errorField(error, 'errno'));
    return code === deadlock || (code === lockWaitTimeout && parts.clock.monotonic() < givesUpAt);
  };
  return retryPassing(isPassing, () =>
    isSingle
      ? admit((work) => lane.pass(() => connections.use(work)))
      : lane.pass(() => connections.transaction((connection) => admit((work) => work(connection)))),
  );
}

/** In the transaction that is open on a connection of ours. */
export function admitOn(
  connection: MysqlConnection,
  parts: MysqlAdmissionParts,
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  return admitBy((work) => work(connection), parts, jobs);
}

function admitBy(use: Use, parts: MysqlAdmissionParts, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
  return admitJobs(jobs, new MysqlAdmission({ use, useFresh: use }, parts, 'text'), parts.clock);
}

/** In the transaction that is open on the caller's connection. Where something fails it is as it was before. */
export function admitWithin(
  connection: MysqlConnection,
  parts: MysqlAdmissionParts,
  jobs: readonly NewJob[],
): Promise<readonly EnqueueResult[]> {
  const ways = { use: (work) => work(connection), useFresh: (work) => parts.connections.use(work) } satisfies Ways;
  const steps = new MysqlAdmission(ways, parts, 'bytes');
  const admit = (): Promise<readonly EnqueueResult[]> => admitJobs(jobs, steps, parts.clock);
  const isSingle = jobs.length === 1 && jobs[0]?.throttle === undefined;
  return isSingle ? admit() : withSavepoint(connection, admit);
}

type Use = <T>(work: (connection: MysqlConnection) => Promise<T>) => Promise<T>;

interface Ways {
  readonly use: Use;
  /** A connection of ours, on which a statement sees what is committed by then, whatever the isolation of the other one. */
  readonly useFresh: Use;
}

/**
 * A statement that runs into a taken key locks its entry, and who completes the job that holds it would have to wait for the end of this transaction. So
 * it is looked first, without a lock and at what is committed by now: the transaction itself may see the table as it was when it began. Only
 * where nobody is seen the statement is said, which alone decides.
 */
class MysqlAdmission implements AdmissionSteps {
  /** The jobs whose keys were taken when they were to be stored: nobody who holds such a key can leave before this transaction ends. */
  private readonly refused = new Set<string>();

  constructor(
    private readonly ways: Ways,
    private readonly parts: MysqlAdmissionParts,
    private readonly binding: TextBinding,
  ) {}

  async insert(jobs: readonly NewJob[]): Promise<void> {
    const { inserter } = this.parts;
    await this.ways.use((connection) => inserter.insertInto(connection, inserter.batchesOf(jobs), this.binding));
  }

  async insertAbsent(jobs: readonly NewJob[]): Promise<ReadonlySet<string>> {
    const { names, inserter } = this.parts;
    const holders = await this.committed(jobs);
    const absent = jobs.filter((job) => !holders.has(keyOf(job)));
    const stored = new Set<string>();
    for (const batch of absent.length === 0 ? [] : inserter.batchesOf(absent)) {
      const statement = insertStatement(names.table, batch, { binding: this.binding, mode: 'INSERT IGNORE' });
      const { affected } = await this.say(statement);
      for (const id of await this.storedOf(batch, affected)) stored.add(id);
    }
    for (const { id } of absent) if (!stored.has(id)) this.refused.add(id);
    return stored;
  }

  async holders(jobs: readonly NewJob[]): Promise<ReadonlyMap<string, Holder>> {
    const seen = await this.committed(jobs);
    const unseen = jobs.filter((job) => this.refused.has(job.id) && !seen.has(keyOf(job)));
    if (unseen.length === 0) return seen;
    const reading = { binding: this.binding, reading: 'LOCK IN SHARE MODE' } as const;
    const { rows } = await this.say(holdersStatement(this.parts.names.table, unseen, reading));
    return new Map([...seen, ...toHolders(rows)]);
  }

  async replace(id: string, job: NewJob): Promise<boolean> {
    const statement = replaceStatement(this.parts.names.table, id, { job, binding: this.binding });
    return (await this.say(statement)).affected > 0;
  }

  async takeSlot(job: NewJob): Promise<string> {
    const { slots } = this.parts.names;
    const look = slotHolderStatement(slots, job, { binding: 'text', reading: '' });
    const { rows } = await this.ways.useFresh((connection) => run(connection, look));
    if (rows[0] !== undefined) return toText(rows[0]['job_id']);
    await this.say(takeSlotStatement(slots, job, this.binding));
    const reading = { binding: this.binding, reading: 'LOCK IN SHARE MODE' } as const;
    const [holder] = (await this.say(slotHolderStatement(slots, job, reading))).rows;
    return toText(holder?.['job_id']);
  }

  /** The count tells, but where only some were stored; then this is a transaction, and nobody has touched them yet. */
  private async storedOf(batch: readonly NewJob[], affected: number): Promise<readonly string[]> {
    const ids = batch.map(({ id }) => id);
    if (affected === batch.length) return ids;
    if (affected === 0) return [];
    return (await this.say(presentStatement(this.parts.names.table, ids))).rows.map((row) => toText(row['id']));
  }

  private async committed(jobs: readonly NewJob[]): Promise<ReadonlyMap<string, Holder>> {
    const statement = holdersStatement(this.parts.names.table, jobs, { binding: 'text', reading: '' });
    return toHolders((await this.ways.useFresh((connection) => run(connection, statement))).rows);
  }

  private say({ text, values }: MysqlStatement): Promise<MysqlResult> {
    const isOwn = this.binding === 'text';
    const statement = { text: isOwn ? impatient + text.trimStart() : text, values };
    return this.ways.use((connection) => run(connection, statement, isOwn ? answerMs : noTimeout));
  }
}

function keyOf({ type, uniqueKey }: NewJob): string {
  return scopedKey(type, uniqueKey ?? '');
}
