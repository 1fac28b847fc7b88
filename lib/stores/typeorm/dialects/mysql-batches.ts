import type { QueryRunner } from 'typeorm';
import { enqueueResult, type EnqueueResult } from '../../../model/enqueue-result.js';
import { isConditional, type NewJob } from '../../../model/job.js';
import type { TableNames, SqlText, TextMaker, ValueType } from '../admin/sql-text.js';
import {
  existing,
  noAnswer,
  runEach,
  type BatchSql,
  type BatchWords,
  type Script,
  type Step,
  type StepAnswer,
} from '../batches/batch-sql.js';
import { admitOn, admitWithin, type MysqlAdmissionParts } from './mysql-admission.js';
import { joinedConnection, withSavepoint } from './mysql-inserter.js';
import { execute, noTimeout, type MysqlConnection, type MysqlResult, type MysqlValue } from './mysql-pool.js';
import { byId, mysqlNowMs, textBinding, type TextBinding } from './mysql-statements.js';
import { answerMs } from '../own-data-source.js';

export interface MysqlBatchesParts {
  readonly names: TableNames;
  /** Runs a transaction of ours, again where it was refused for a passing reason. */
  readonly transaction: <T>(
    lane: 'plain' | 'conditional',
    run: (connection: MysqlConnection) => Promise<T>,
  ) => Promise<T>;
  readonly admission: () => MysqlAdmissionParts;
}

/** They lie in an index by a column that holds both, so that jobs without a batch have no part in it. */
const members: BatchWords['members'] = (sql, id, state) =>
  `j.batch_state = ${id === undefined ? `CONCAT(b.id, '${state}')` : sql.bind(`${id}${state}`, 'uuid')}`;

export const mysqlBatchWords: BatchWords = {
  members,
  hasMember: existing(members),
  byId,
  forUpdate: 'FOR UPDATE',
};

const savepoint = 'nestjs_jobs_batch';

export class MysqlBatches implements BatchSql {
  readonly words = mysqlBatchWords;

  constructor(private readonly parts: MysqlBatchesParts) {}

  transaction<T>(lane: 'plain' | 'conditional', make: () => Script<T>): Promise<T> {
    return this.parts.transaction(lane, (connection) =>
      runEach(make(), (step) => this.answer(connection, step, 'text')),
    );
  }

  async within<T>(runner: QueryRunner, make: () => Script<T>): Promise<T> {
    const connection = await joinedConnection(runner);
    const run = (): Promise<T> => runEach(make(), (step) => this.answer(connection, step, 'bytes'));
    return withSavepoint(connection, run, savepoint);
  }

  private async answer(connection: MysqlConnection, step: Step, binding: TextBinding): Promise<StepAnswer> {
    if ('store' in step) return { rows: [], results: await this.store(connection, step.store, binding) };
    const { rows } = await this.say(connection, 'read' in step ? step.read : step.write, binding);
    return { ...noAnswer, rows };
  }

  private say(connection: MysqlConnection, make: TextMaker, binding: TextBinding): Promise<MysqlResult> {
    const sql = new BoundText(this.parts.names, binding);
    const text = make(sql);
    return execute(connection, text, sql.values, binding === 'bytes' ? noTimeout : answerMs);
  }

  private async store(
    connection: MysqlConnection,
    jobs: readonly NewJob[],
    binding: TextBinding,
  ): Promise<readonly EnqueueResult[]> {
    const admission = this.parts.admission();
    if (jobs.some(isConditional)) {
      const admit = binding === 'text' ? admitOn : admitWithin;
      return admit(connection, admission, jobs);
    }
    const { inserter } = admission;
    await inserter.insertInto(connection, inserter.batchesOf(jobs), binding);
    return jobs.map(({ id }) => enqueueResult(id, 'stored'));
  }
}

/** Binds text in a way that does not depend on the connection. */
class BoundText implements SqlText {
  readonly table: string;
  readonly slots: string;
  readonly statistics: string;
  readonly batches: string;
  readonly schedules: string;
  readonly values: MysqlValue[] = [];

  constructor(
    { table, slots, statistics, batches, schedules }: TableNames,
    private readonly binding: TextBinding,
  ) {
    this.table = table;
    this.slots = slots;
    this.statistics = statistics;
    this.batches = batches;
    this.schedules = schedules;
  }

  bind(value: string | number | null, type: ValueType): string {
    const { mark, bound } = textBinding(this.binding);
    this.values.push(type === 'text' ? bound(value) : value);
    return type === 'text' ? mark : '?';
  }

  now(): string {
    return mysqlNowMs;
  }
}
