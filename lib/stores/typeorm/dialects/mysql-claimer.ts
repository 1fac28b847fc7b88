import { randomBytes } from 'node:crypto';
import type { ClaimedJob } from '../../../model/job.js';
import type { ClaimRequest } from '../../job-store.js';
import { fitting } from '../../payload-room.js';
import { toClaimedJob, toText, type Row } from '../job-row.js';
import type { SqlNames } from '../table-name.js';
import { StreamChart, type Steps } from '../stream-chart.js';
import { capOf, isInScope, isPaused, toStream, type Stream } from '../streams.js';
import type { MysqlConnection, MysqlConnections } from './mysql-pool.js';
import {
  claimStatement,
  lockPendingStatement,
  payloadsStatement,
  run,
  type MysqlStatement,
} from './mysql-statements.js';
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

/** What a claim has taken. */
export interface Claimed {
  readonly jobs: readonly ClaimedJob[];
  /** There was not room for more payloads. */
  readonly isFull: boolean;
}

interface Locked extends Pick<Claimed, 'isFull'> {
  readonly rows: readonly Row[];
}

/**
 * Claims by primary key. A locking read in the order of the index would lock what it passes and deadlock with inserts and with other
 * claims; so the index is read without locks, and only the rows found are locked, those of other claimers left out. Where several
 * processes look at the same jobs, each looks further than it needs.
 */
export class MysqlClaimer {
  private look = 1;
  /** How many jobs are locked in one go. The server has to read payloads to tell their lengths, so it is few where there is room for few. */
  private stride = mostClaimed;
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
  async claim(connection: MysqlConnection, { ids }: Candidates, claim: ClaimRequest): Promise<Claimed> {
    const { rows, isFull } = await this.lock(connection, ids, claim);
    if (rows.length === 0) return { jobs: [], isFull };
    const { owner, leaseMs } = claim;
    const nonce = `${randomBytes(16).toString('hex')}:`;
    const claimed = (await this.withPayloads(connection, rows)).map((row) => claimedJob(row, nonce));
    const claimedIds = claimed.map(({ id }) => id);
    await run(connection, claimStatement(this.names.table, claimedIds, { nonce, owner, leaseMs }));
    return { jobs: claimed, isFull };
  }

  /** Of these jobs those to claim, in the order of the list, together with the payloads that are small. */
  private async lock(connection: MysqlConnection, ids: readonly string[], claim: ClaimRequest): Promise<Locked> {
    const places = new Map<unknown, number>(ids.map((id, place) => [id, place]));
    const placeOf = (row: Row): number => places.get(row['id']) ?? ids.length;
    const wanted = Math.min(claim.limit, mostClaimed);
    const longest = claim.room === undefined ? undefined : Math.floor(claim.room / wanted);
    const locked: Row[] = [];
    let rows: readonly Row[] = [];
    let size = Math.min(wanted, this.stride);
    for (let tried = 0; tried < ids.length && locked.length < wanted; size = Math.min(size * 2, mostClaimed)) {
      const next = ids.slice(tried, tried + size);
      const statement = lockPendingStatement(this.names.table, next, { limit: wanted - locked.length, longest });
      locked.push(...(await run(connection, statement)).rows);
      tried += next.length;
      rows = fitting(
        locked.toSorted((a, b) => placeOf(a) - placeOf(b)),
        claim,
        sizeOf,
      );
      if (rows.length < locked.length) break;
    }
    const isFull = rows.length < locked.length;
    this.stride = isFull ? rows.length + 1 : Math.min(this.stride * 4, mostClaimed);
    return { rows, isFull };
  }

  /** The same rows with the payloads too that were left out for their length. */
  private async withPayloads(connection: MysqlConnection, rows: readonly Row[]): Promise<readonly Row[]> {
    const missing = rows.filter((row) => row['payload'] === null).map((row) => toText(row['id']));
    if (missing.length === 0) return rows;
    const found = await run(connection, payloadsStatement(this.names.table, missing));
    const payloads = new Map(found.rows.map((row) => [row['id'], row['payload']]));
    return rows.map((row) => (payloads.has(row['id']) ? { ...row, payload: payloads.get(row['id']) } : row));
  }

  /** Says whether it is worth to look again, further: others were at the same jobs, and there are more. */
  isCrowdedOut(candidates: Candidates, { jobs, isFull }: Claimed, { limit }: ClaimRequest): boolean {
    if (isFull) return false;
    const isShort = jobs.length < Math.min(limit, mostClaimed);
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

function sizeOf(row: Row): number {
  return Number(row['size']);
}

function claimedJob(row: Row, nonce: string): ClaimedJob {
  return toClaimedJob(row, { token: `${nonce}${toText(row['id'])}`, now: Number(row['now_ms']) });
}
