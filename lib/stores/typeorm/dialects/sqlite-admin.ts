import { guardOf, type AdminSql, type RowChange } from '../admin/admin-sql.js';
import { sqliteWords } from '../admin/admin-words.js';
import { MarkedText, type AdminTables, type TextMaker } from '../admin/sql-text.js';
import type { Row } from '../job-row.js';
import { errorField } from '../retry.js';
import type { SqliteGate } from './sqlite-gate.js';
import { inSqliteTransaction, type SqliteHandle } from './sqlite-handle.js';

export interface SqliteAdminParts {
  readonly names: AdminTables;
  readonly gate: SqliteGate;
  readonly now: () => number;
}

/** Each look and each change is a synchronous block of its own, short enough to hold nobody up. */
export class SqliteAdmin implements AdminSql {
  readonly words = sqliteWords;

  constructor(private readonly parts: SqliteAdminParts) {}

  read(make: TextMaker): Promise<readonly Row[]> {
    return this.parts.gate.run((handle) => {
      const sql = this.begin();
      return handle.prepare(make(sql)).all(...sql.values);
    });
  }

  write(make: TextMaker): Promise<number> {
    return this.parts.gate.run((handle) => {
      const sql = this.begin();
      return handle.prepare(make(sql)).run(...sql.values).changes;
    });
  }

  async readEach<P>(each: readonly P[], make: TextMaker<P>): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (const one of each) rows.push(...(await this.read((sql) => make(sql, one))));
    return rows;
  }

  change(change: RowChange): Promise<readonly Row[]> {
    if (change.ids.length === 0) return Promise.resolve([]);
    return this.parts.gate.run((handle) => inSqliteTransaction(handle, () => this.changeNow(handle, change)));
  }

  isKeyTaken(error: unknown): boolean {
    return errorField(error, 'code') === 'SQLITE_CONSTRAINT_UNIQUE';
  }

  /** Other processes notice every commit by themselves. */
  async announce(): Promise<void> {}

  checkPayload(): void {
    // What the option maxPayloadSize lets through, this database takes.
  }

  private changeNow(handle: SqliteHandle, change: RowChange): readonly Row[] {
    const { set } = change;
    const look = this.begin();
    const guard = guardOf(look, change);
    const rows = handle
      .prepare(`SELECT id, status, claim_token FROM ${look.table} WHERE ${guard} ORDER BY id`)
      .all(...look.values);
    if (rows.length === 0) return rows;
    const write = this.begin();
    const text =
      set === undefined
        ? `DELETE FROM ${write.table} WHERE ${guardOf(write, change)}`
        : `UPDATE ${write.table} SET ${set(write)} WHERE ${guardOf(write, change)}`;
    handle.prepare(text).run(...write.values);
    return rows;
  }

  private begin(): MarkedText {
    return new MarkedText(this.parts.names, this.parts.now());
  }
}
