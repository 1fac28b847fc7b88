import { withMysql } from '../servers/mysql.mjs';
import { withPostgres } from '../servers/postgres.mjs';
import { openSqlite } from '../servers/sqlite.mjs';

const explainers = {
  postgres: ({ url }, { text, values }) =>
    withPostgres(async (client) => {
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, SUMMARY OFF) ${text}`, values);
      await client.query('ROLLBACK');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    }, url),
  mysql: ({ url }, { text, values }) =>
    withMysql(async (connection) => {
      // Prepared, as the library does it: what is bound to a LIMIT could not be put in as text.
      const [rows] = await connection.execute(`EXPLAIN ${text}`, values);
      return rows
        .map(
          ({ table, type, key, rows: count, Extra: extra }) => `${table}: ${type} by ${key}, ~${count} rows, ${extra}`,
        )
        .join('\n');
    }, url),
  async sqlite({ file }, { text, values }) {
    const database = openSqlite(file);
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    database.close();
    return rows.map(({ detail }) => detail).join('\n');
  },
};

/** What the database says about how it runs each of these statements that read or write jobs, said once. */
export async function explain({ server, ...storage }, statements) {
  const plans = new Map();
  for (const statement of statements) {
    const text = shorten(statement.text);
    if (!/rws_jobs/.test(text) || plans.has(text)) continue;
    plans.set(text, { text, plan: await explainers[server](storage, statement) });
  }
  return [...plans.values()];
}

/** Long lists of marks say nothing. */
function shorten(text) {
  return text
    .replaceAll(/\?(, \?){3,}/g, '?, …')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
