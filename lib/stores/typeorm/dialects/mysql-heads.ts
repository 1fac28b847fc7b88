import type { ClaimRequest } from '../../job-store.js';
import type { KeyHead, KeySource } from '../../key-line.js';
import { scopedKey } from '../../../model/unique-key.js';
import { toText, type Row } from '../job-row.js';
import { toKeyHead } from '../keyed-claim.js';
import { isPaused } from '../streams.js';
import type { SqlNames } from '../table-name.js';
import {
  entriesInStep,
  firstOfKeysStatement,
  keysStatement,
  mostKeysNamed,
  pausesStatement,
  waitingKeysStatement,
} from './mysql-keys.js';
import type { MysqlConnection } from './mysql-pool.js';
import { run } from './mysql-statements.js';

/**
 * The job that stands first of each key, where it may run: none of its key runs, and none that was started before waits for its time. In
 * several statements, since one with all of it is more than MariaDB prepares twice.
 */
export async function findHeads(
  connection: MysqlConnection,
  names: SqlNames,
  { source, claim }: { readonly source: KeySource; readonly claim: ClaimRequest },
): Promise<readonly KeyHead[]> {
  const [type = ''] = claim.types ?? [];
  const lineKeys = await lineKeysOf(connection, names, { type, source });
  const paused = new Set((await run(connection, pausesStatement(names.slots))).rows.map((row) => row['slot']));
  const heads: KeyHead[] = [];
  for (let at = 0; at < lineKeys.length; at += mostKeysNamed) {
    const rows = await firstRows(connection, names, lineKeys.slice(at, at + mostKeysNamed));
    heads.push(...rows.map((row) => headOf(row, { type, paused, claim })));
  }
  return heads;
}

async function lineKeysOf(
  connection: MysqlConnection,
  names: SqlNames,
  { type, source }: { readonly type: string; readonly source: KeySource },
): Promise<readonly string[]> {
  if ('keys' in source) return source.keys.map((key) => scopedKey(type, key));
  const found = new Set<string>();
  let after = scopedKey(type, source.after);
  for (;;) {
    const { rows } = await run(connection, keysStatement(names, type, after));
    for (const row of rows) found.add(toText(row['line_key']));
    after = [...found].at(-1) ?? after;
    if (rows.length < entriesInStep || found.size >= source.count) return [...found].slice(0, source.count);
  }
}

/** In the order of their keys; where one that was started before waits, it is as if one ran. */
async function firstRows(
  connection: MysqlConnection,
  names: SqlNames,
  lineKeys: readonly string[],
): Promise<readonly Row[]> {
  const { rows } = await run(connection, firstOfKeysStatement(names, lineKeys));
  const found = new Map(rows.map((row) => [row['line_key'], row]));
  const started = rows.filter((row) => Number(row['line_phase']) === 1).map((row) => toText(row['line_key']));
  const waiting = new Set(
    started.length === 0
      ? []
      : (await run(connection, waitingKeysStatement(names, started))).rows.map((row) => row['line_key']),
  );
  return lineKeys
    .map((lineKey) => found.get(lineKey))
    .filter((row) => row !== undefined)
    .map((row) => (waiting.has(row['line_key']) ? { ...row, line_phase: 0 } : row));
}

interface HeadFacts {
  readonly type: string;
  readonly paused: ReadonlySet<unknown>;
  readonly claim: ClaimRequest;
}

function headOf(row: Row, { type, paused, claim }: HeadFacts): KeyHead {
  const stream = { type, queue: toText(row['queue']), priority: 0 };
  const isFree = Number(row['line_phase']) > 0 && Number(row['is_due']) === 1 && !isPaused(stream, paused);
  return toKeyHead(isFree ? row : { ...row, id: null }, claim);
}
