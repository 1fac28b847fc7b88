import type { Statistics, StatisticsRow } from '../statistics.js';
import type { AdminSql } from './admin/admin-sql.js';
import {
  forgetStatement,
  nowStatement,
  oldestStatement,
  readStatement,
  toStatisticsRow,
} from './admin/statistics-statements.js';
import { inStore } from './store-error.js';

/** Rows in one statement: servers bound the values that it binds. */
const mostTogether = 100;
/** What one deletion takes, so that it stays short after a long time without any. */
const mostMinutes = 60;

/** Statistics in a table of their own. */
export class TypeOrmStatistics implements Statistics {
  constructor(private readonly sql: AdminSql) {}

  record(rows: readonly StatisticsRow[]): Promise<void> {
    return inStore('store statistics', async () => {
      for (let start = 0; start < rows.length; start += mostTogether) {
        const some = rows.slice(start, start + mostTogether);
        await this.sql.write((sql) => this.sql.words.recordStatistics(sql, some));
      }
    });
  }

  read(fromMinute: number): Promise<readonly StatisticsRow[]> {
    return inStore('read statistics', async () =>
      (await this.sql.read((sql) => readStatement(sql, fromMinute))).map(toStatisticsRow),
    );
  }

  prune(beforeMinute: number): Promise<void> {
    return inStore('delete old statistics', async () => {
      const [row] = await this.sql.read(oldestStatement);
      const oldest = row?.['minute'] ?? undefined;
      if (oldest === undefined || Number(oldest) >= beforeMinute) return;
      const before = Math.min(beforeMinute, Number(oldest) + mostMinutes * 60_000);
      await this.sql.write((sql) => forgetStatement(sql, before));
    });
  }

  now(): Promise<number> {
    return inStore('ask for the time', async () => Number((await this.sql.read(nowStatement))[0]?.['now_ms']));
  }
}
