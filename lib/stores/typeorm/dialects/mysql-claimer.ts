import { randomBytes } from 'node:crypto';
import type { ClaimedJob } from '../../../model/job.js';
import type { ClaimRequest } from '../../job-store.js';
import { toClaimedJob, toText, type Row } from '../job-row.js';
import type { SqlNames } from '../table-name.js';
import { StreamChart, type Steps } from '../stream-chart.js';
import { capOf, compareDue, isInScope, isPaused, toStream, type Stream } from '../streams.js';
import type { MysqlConnection, MysqlConnections } from './mysql-pool.js';
import { claimStatement, lockPendingStatement, run, type MysqlStatement } from './mysql-statements.js';
import { candidatesStatement, nextStreamsStatement, streamsStatement, toSteps } from './mysql-streams.js';
import { pendingTypesStatement } from './mysql-upkeep.js';

/**
 * The most jobs that a crowded claimer looks at. A claim whose process stands still holds what it has locked until its connection
 * ends: the others must see past several of those.
 */
const mostSeen = 16_384;
/** Bounds the lists in a statement. A worker that wants more asks again. */
const mostClaimed = 2_048;

/** Due jobs to try for, as they were a moment ago. */
export interface Candidates {
  readonly ids: readonly string[];
  /** More may be due than these. */
  readonly isCut: boolean;
}

/**
 * Claims by primary key. A locking read in the order of the index would lock what it passes and deadlock with inserts and with other
 * claims; so the index is read without locks, and only the rows found are locked, those of other claimers left out. Where several
 * processes look at the same jobs, each looks further than it needs.
 */
export class MysqlClaimer {
  private look = 1;
  private readonly chart = new StreamChart();

  constructor(
    private readonly connections: MysqlConnections,
    private readonly names: SqlNames,
  ) {}

  candidates(request: ClaimRequest): Promise<Candidates> {
    return this.connections.use((connection) => this.candidatesOn(connection, request));
  }

  async candidatesOn(connection: MysqlConnection, claim: ClaimRequest): Promise<Candidates> {
    const { caps, limit, mostInterruptions, keys } = claim;
    const most = this.reach(limit);
    const streams = await this.streams(connection, claim);
    if (streams.length === 0) return { ids: [], isCut: false };
    const candidature = { streams, caps, limit: most, mostInterruptions, keys };
    const { rows } = await run(connection, candidatesStatement(this.names.table, candidature));
    return { ids: rows.map((row) => toText(row['id'])), isCut: rows.length >= most };
  }

  /** The streams that a claim may take from. */
  async streams(connection: MysqlConnection, { types, queues, caps }: ClaimRequest): Promise<readonly Stream[]> {
    const paused = new Set<unknown>();
    const ask = async (statement: MysqlStatement): Promise<readonly Row[]> => {
      const { rows } = await run(connection, statement);
      for (const { slot } of rows) if (slot !== null) paused.add(slot);
      return rows.filter((row) => row['slot'] === null);
    };
    const lookAtAll = async (): Promise<readonly Stream[]> =>
      (await ask(streamsStatement(this.names, types))).map(toStream);
    const stepFrom = async (marks: readonly Stream[]): Promise<Steps> =>
      toSteps(marks, await ask(nextStreamsStatement(this.names, marks)));
    const found = await (types === undefined ? lookAtAll() : this.chart.streams(types, { lookAtAll, stepFrom }));
    return found.filter(
      (stream) => !isPaused(stream, paused) && isInScope(stream.queue, queues) && capOf(caps, stream.type) !== 0,
    );
  }

  async pendingTypes(connection: MysqlConnection): Promise<readonly string[]> {
    const { rows } = await run(connection, pendingTypesStatement(this.names.table));
    return rows.map((row) => toText(row['job_type']));
  }

  /** In a transaction: nobody else claims what is locked here until it is marked. */
  async claim(
    connection: MysqlConnection,
    { ids }: Candidates,
    { limit, owner, leaseMs }: ClaimRequest,
  ): Promise<readonly ClaimedJob[]> {
    const wanted = Math.min(limit, mostClaimed);
    const locked: Row[] = [];
    let size = wanted;
    for (let tried = 0; tried < ids.length && locked.length < wanted; size = Math.min(size * 2, mostClaimed)) {
      const next = ids.slice(tried, tried + size);
      const statement = lockPendingStatement(this.names.table, next, wanted - locked.length);
      locked.push(...(await run(connection, statement)).rows);
      tried += next.length;
    }
    if (locked.length === 0) return [];
    const nonce = `${randomBytes(16).toString('hex')}:`;
    const claimed = locked.toSorted(compareDue).map((row) => claimedJob(row, nonce));
    const claimedIds = claimed.map(({ id }) => id);
    await run(connection, claimStatement(this.names.table, claimedIds, { nonce, owner, leaseMs }));
    return claimed;
  }

  /** Says whether it is worth to look again, further: others were at the same jobs, and there are more. */
  isCrowdedOut(candidates: Candidates, claimed: readonly ClaimedJob[], { limit }: ClaimRequest): boolean {
    const isShort = claimed.length < Math.min(limit, mostClaimed);
    if (!isShort || !candidates.isCut) {
      if (!isShort) this.look = Math.max(1, this.look / 2);
      return false;
    }
    if (this.reach(limit) >= mostSeen) return false;
    this.look *= 2;
    return true;
  }

  private reach(limit: number): number {
    return Math.min(Math.min(limit, mostClaimed) * this.look, mostSeen);
  }
}

function claimedJob(row: Row, nonce: string): ClaimedJob {
  return toClaimedJob(row, { token: `${nonce}${toText(row['id'])}`, now: Number(row['now_ms']) });
}
