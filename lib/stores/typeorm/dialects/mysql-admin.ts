import { guardOf, type AdminSql, type RowChange } from '../admin/admin-sql.js';
import { mysqlWords } from '../admin/admin-words.js';
import { MarkedText, type AdminTables, type TextMaker } from '../admin/sql-text.js';
import type { Row } from '../job-row.js';
import { errorField } from '../retry.js';
import { retryMysql, type MysqlConnection, type MysqlConnections, type MysqlResult } from './mysql-pool.js';
import { byId, mysqlNowMs, run } from './mysql-statements.js';

export interface MysqlAdminParts {
  readonly names: AdminTables;
  readonly connections: () => MysqlConnections;
  readonly checkPayload: (payload: string) => void;
}

/** By primary keys, like all that locks here: a search that locks would lock what it passes. */
export class MysqlAdmin implements AdminSql {
  readonly words = mysqlWords;

  constructor(private readonly parts: MysqlAdminParts) {}

  read(make: TextMaker): Promise<readonly Row[]> {
    return this.parts.connections().use((connection) => this.say(connection, make));
  }

  async write(make: TextMaker): Promise<number> {
    const write = (): Promise<MysqlResult> =>
      this.parts.connections().use((connection) => this.execute(connection, make));
    return (await retryMysql(write)).affected;
  }

  /** One after the other on one connection: so each has the same text, which the server prepares once. */
  readEach<P>(each: readonly P[], make: TextMaker<P>): Promise<readonly Row[]> {
    return this.parts.connections().use(async (connection) => {
      const rows: Row[] = [];
      for (const one of each) rows.push(...(await this.say(connection, (sql) => make(sql, one))));
      return rows;
    });
  }

  async change(change: RowChange): Promise<readonly Row[]> {
    const { set } = change;
    const padded = { ...change, ids: paddedIds(change.ids) };
    if (change.ids.length === 0) return [];
    return retryMysql(() =>
      this.parts.connections().transaction(async (connection) => {
        const rows = await this.say(
          connection,
          (sql) =>
            `SELECT id, status, claim_token FROM ${byId(sql.table)} WHERE ${guardOf(sql, padded)} ORDER BY id FOR UPDATE`,
        );
        if (rows.length === 0) return rows;
        await this.say(connection, (sql) =>
          set === undefined
            ? `DELETE j FROM ${sql.table} AS j FORCE INDEX (PRIMARY) WHERE ${guardOf(sql, padded)}`
            : `UPDATE ${byId(sql.table)} SET ${set(sql)} WHERE ${guardOf(sql, padded)}`,
        );
        return rows;
      }),
    );
  }

  isKeyTaken(error: unknown): boolean {
    return errorField(error, 'errno') === 1_062;
  }

  /** This database tells nobody; jobs of other processes are found by polling. */
  async announce(): Promise<void> {}

  checkPayload(payload: string): void {
    this.parts.checkPayload(payload);
  }

  private execute(connection: MysqlConnection, make: TextMaker): Promise<MysqlResult> {
    const sql = new MarkedText(this.parts.names, mysqlNowMs);
    const text = make(sql);
    return run(connection, { text, values: sql.values });
  }

  private async say(connection: MysqlConnection, make: TextMaker): Promise<readonly Row[]> {
    return (await this.execute(connection, make)).rows;
  }
}

/** Filled up to a power of two with the last one, so that a server prepares a dozen texts and not a thousand. */
function paddedIds(ids: readonly string[]): readonly string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, ids.length)));
  const [last = ''] = ids.slice(-1);
  return [...ids, ...Array.from({ length: length - ids.length }, () => last)];
}
