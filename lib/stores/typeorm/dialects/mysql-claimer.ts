import { randomBytes } from 'node:crypto';
import type { ClaimedJob } from '../../../model/job.js';
import type { ClaimRequest } from '../../job-store.js';
import { toClaimedJob, toText, type Row } from '../job-row.js';
import type { ClaimTables } from '../admin/sql-text.js';
import { capOf, compareDue, isInScope, openStreams, type Stream } from '../streams.js';
import type { MysqlConnection, MysqlConnections } from './mysql-pool.js';
import { claimStatement, lockPendingStatement, run } from './mysql-statements.js';
import { candidatesStatement, pausesStatement, streamsStatement } from './mysql-streams.js';
import { pendingTypesStatement } from './mysql-upkeep.js';

/**
 * The most jobs that a crowded claimer looks at. A claim whose process stands still holds what it has locked until its connection
 * ends: the others must see past several of those.
 */
const mostSeen = 16_384;
/** Bounds the lists in a statement. A worker that wants more asks again. */
const mostClaimed = 2_048;

/** A claim of at least so many jobs that brings as many is one of many to come. */
const fullClaim = 100;
/** For so long streams that were found are taken for all of them meanwhile, milliseconds. */
const knownMs = 200;

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
  private seen: { readonly types: string; readonly rows: readonly Row[]; readonly at: number } | undefined;
  private isFlowing = false;

  constructor(
    private readonly connections: MysqlConnections,
    private readonly names: ClaimTables,
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
    const rows = await this.streamRows(connection, types);
    return openStreams(rows).filter(({ type, queue }) => isInScope(queue, queues) && capOf(caps, type) !== 0);
  }

  /**
   * To find where a stream begins costs as much as a claim while jobs leave it fast: the server steps over each that is gone, until it has
   * cleaned up. So while claims come back full one look lasts for a moment; a pause is heeded at once all the same.
   */
  private async streamRows(connection: MysqlConnection, types: readonly string[] | undefined): Promise<readonly Row[]> {
    const asked = JSON.stringify(types);
    const now = performance.now();
    const { seen } = this;
    if (this.isFlowing && seen?.types === asked && now - seen.at < knownMs) {
      const { rows } = await run(connection, pausesStatement(this.names));
      return [...seen.rows, ...rows];
    }
    const { rows } = await run(connection, streamsStatement(this.names, types));
    this.seen = { types: asked, rows: rows.filter((row) => row['job_type'] !== null), at: now };
    return rows;
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
    this.isFlowing = !isShort && limit >= fullClaim;
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
