import type { QueryRunner } from 'typeorm';
import { largestContext } from '../../../model/context-carrier.js';
import { PayloadTooLargeError } from '../../../model/errors.js';
import type { NewJob } from '../../../model/job.js';
import { guardOf, transactionUndone } from '../rollbacks.js';
import { chunksOf } from '../chunks.js';
import { answerMs } from '../own-data-source.js';
import {
  execute,
  isDeadlock,
  isMysqlConnection,
  noTimeout,
  say,
  type MysqlConnection,
  type MysqlConnections,
} from './mysql-pool.js';
import { insertStatement, type TextBinding } from './mysql-statements.js';

/** Up to here each number of rows has its own text, which the server prepares once; above, the powers of two have. */
const mostOwnTexts = 32;
const mostRows = 256;
const mostCharacters = 4_000_000;
/** The longest character of UTF-8 for one of UTF-16, and as much again for the rest of the statement. */
const bytesPerCharacter = 4;
/** What a statement with one row holds besides its payload, the context that it may carry included. */
const overhead = 4_096 + largestContext;
const insertSavepoint = 'nestjs_jobs_insert';

/** Stores jobs, in one statement where they fit. */
export class MysqlInserter {
  private maxPacket = Infinity;

  constructor(
    private readonly connections: MysqlConnections,
    private readonly table: string,
  ) {}

  /** The server cuts the connection over a statement above its limit, so the limit is asked for beforehand. */
  async learnLimits(): Promise<void> {
    const { rows } = await this.connections.use((connection) =>
      say(connection, 'SELECT @@max_allowed_packet AS bytes'),
    );
    this.maxPacket = Number(rows[0]?.['bytes']);
  }

  async insert(jobs: readonly NewJob[]): Promise<void> {
    const batches = this.batchesOf(jobs);
    if (batches.length === 1) await this.connections.use((connection) => this.insertInto(connection, batches, 'text'));
    else await this.connections.transaction((connection) => this.insertInto(connection, batches, 'text'));
  }

  async insertWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<void> {
    const batches = this.batchesOf(jobs);
    const connection = await joinedConnection(runner);
    if (batches.length === 1) return this.insertInto(connection, batches, 'bytes');
    await withSavepoint(connection, () => this.insertInto(connection, batches, 'bytes'));
  }

  /** Stores jobs by statements on this connection. */
  async insertInto(
    connection: MysqlConnection,
    batches: readonly (readonly NewJob[])[],
    binding: TextBinding,
  ): Promise<void> {
    for (const batch of batches) {
      const { text, values } = insertStatement(this.table, batch, { binding });
      await execute(connection, text, values, binding === 'bytes' ? noTimeout : answerMs);
    }
  }

  /** What goes into one statement each. @throws PayloadTooLargeError */
  batchesOf(jobs: readonly NewJob[]): readonly (readonly NewJob[])[] {
    for (const { payload, type } of jobs) this.checkSize(payload, `of a job of type '${type}' `);
    const characters = Math.min(mostCharacters, this.maxPacket / bytesPerCharacter);
    return chunksOf(jobs, { jobs: mostRows, characters }).flatMap(inPreparedSizes);
  }

  /**
   * @param whose Stands in the message behind 'the payload'.
   * @throws PayloadTooLargeError
   */
  checkSize(payload: string, whose = ''): void {
    // Only a payload of a size to be doubted is worth counting byte by byte.
    if (payload.length * bytesPerCharacter + overhead <= this.maxPacket) return;
    const bytes = Buffer.byteLength(payload);
    if (bytes + overhead <= this.maxPacket) return;
    throw new PayloadTooLargeError(
      `the payload ${whose}has ${bytes} bytes, which does not fit the server's max_allowed_packet of ` +
        `${this.maxPacket}: raise that, or store the data elsewhere and enqueue a reference to it`,
    );
  }
}

/** Cuts off powers of two until the rest has a text of its own. */
function inPreparedSizes(jobs: readonly NewJob[]): readonly (readonly NewJob[])[] {
  const batches: (readonly NewJob[])[] = [];
  let rest = jobs;
  while (rest.length > mostOwnTexts) {
    const size = 2 ** Math.floor(Math.log2(rest.length));
    batches.push(rest.slice(0, size));
    rest = rest.slice(size);
  }
  return rest.length === 0 ? batches : [...batches, rest];
}

/** @throws TypeError when it is no connection of mysql2. */
export async function connectionOf(runner: QueryRunner): Promise<MysqlConnection> {
  const connection: unknown = await runner.connect();
  if (isMysqlConnection(connection)) return connection;
  throw new TypeError('the query runner of the manager has no connection of the mysql2 package');
}

/** The connection of a transaction of the app's; it refuses everything from the moment at which that is being rolled back. */
export async function joinedConnection(runner: QueryRunner): Promise<MysqlConnection> {
  const check = guardOf(runner);
  const connection = await connectionOf(runner);
  const guarded =
    (verb: 'execute' | 'query'): MysqlConnection['query'] =>
    (command, callback) => {
      check();
      return connection[verb](command, (error, result) => {
        if (isDeadlock(error)) transactionUndone(runner);
        callback(error, result);
      });
    };
  return { execute: guarded('execute'), query: guarded('query') };
}

/**
 * All that `run` does in the open transaction, or nothing.
 *
 * @param savepoint Another name for each of several inside of each other: the server forgets the one that had the name before.
 */
export async function withSavepoint<T>(
  connection: MysqlConnection,
  run: () => Promise<T>,
  savepoint = insertSavepoint,
): Promise<T> {
  await say(connection, `SAVEPOINT ${savepoint}`, noTimeout);
  try {
    const result = await run();
    await say(connection, `RELEASE SAVEPOINT ${savepoint}`, noTimeout);
    return result;
  } catch (error) {
    await undo(connection, savepoint);
    throw error;
  }
}

/** Where the server has undone the whole transaction there is no savepoint left, and nothing to undo. */
async function undo(connection: MysqlConnection, savepoint: string): Promise<void> {
  try {
    await say(connection, `ROLLBACK TO SAVEPOINT ${savepoint}`, noTimeout);
  } catch {
    // See above; the first error is the one to tell.
  }
}
