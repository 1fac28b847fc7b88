import { guardOf, type AdminSql, type RowChange } from '../admin/admin-sql.js';
import { postgresWords } from '../admin/admin-words.js';
import type { TableNames, SqlText, TextMaker } from '../admin/sql-text.js';
import type { Row } from '../job-row.js';
import { errorField } from '../retry.js';
import type { PgResult } from './postgres-pool.js';
import { pgNowMs, PgValues, type PgStatement } from './postgres-values.js';

/** Statements in one text; the planner takes its time for each. */
const mostTogether = 50;

export interface PostgresAdminParts {
  readonly names: () => TableNames;
  readonly run: (statement: PgStatement) => Promise<PgResult>;
  /** Where other processes are told; undefined tells nobody. */
  readonly channel: () => string | undefined;
}

/** Every change is one statement: what it locks first it changes, and what it found it answers with. */
export class PostgresAdmin implements AdminSql {
  readonly words = postgresWords;

  constructor(private readonly parts: PostgresAdminParts) {}

  async read(make: TextMaker): Promise<readonly Row[]> {
    const sql = this.begin();
    return this.run(make(sql), sql);
  }

  async write(make: TextMaker): Promise<number> {
    const sql = this.begin();
    return (await this.parts.run({ text: make(sql), values: sql.list })).rowCount ?? 0;
  }

  async readEach<P>(each: readonly P[], make: TextMaker<P>): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let start = 0; start < each.length; start += mostTogether) {
      const sql = this.begin();
      const texts = each.slice(start, start + mostTogether).map((one) => `(${make(sql, one)})`);
      rows.push(...(await this.run(texts.join('\nUNION ALL '), sql)));
    }
    return rows;
  }

  async change(change: RowChange): Promise<readonly Row[]> {
    if (change.ids.length === 0) return [];
    const sql = this.begin();
    const { table } = sql;
    const found = `WITH found AS MATERIALIZED (
        SELECT id, status, claim_token, batch_id AS member_of FROM ${table} WHERE ${guardOf(sql, change)} ORDER BY id FOR UPDATE
      )`;
    const answer = 'RETURNING f.id, f.status, f.claim_token, f.member_of';
    const write =
      change.set === undefined
        ? `DELETE FROM ${table} AS j USING found AS f WHERE j.id = f.id ${answer}`
        : `UPDATE ${table} AS j SET ${change.set(sql)} FROM found AS f WHERE j.id = f.id ${answer}`;
    return this.run(`${found}\n${write}`, sql);
  }

  isKeyTaken(error: unknown): boolean {
    return errorField(error, 'code') === '23505';
  }

  async announce(): Promise<void> {
    const channel = this.parts.channel();
    if (channel === undefined) return;
    await this.parts.run({ text: "SELECT pg_notify($1::text, '')", values: [channel] });
  }

  checkPayload(): void {
    // What the option maxPayloadSize lets through, this server takes.
  }

  private begin(): PgText {
    return new PgText(this.parts.names());
  }

  private async run(text: string, { list }: PgText): Promise<readonly Row[]> {
    return (await this.parts.run({ text, values: list })).rows;
  }
}

export class PgText extends PgValues implements SqlText {
  readonly table: string;
  readonly slots: string;
  readonly statistics: string;
  readonly batches: string;
  readonly schedules: string;

  constructor({ table, slots, statistics, batches, schedules }: TableNames) {
    super();
    this.table = table;
    this.slots = slots;
    this.statistics = statistics;
    this.batches = batches;
    this.schedules = schedules;
  }

  now(): string {
    return pgNowMs;
  }
}
