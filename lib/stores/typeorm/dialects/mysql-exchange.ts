import type { ClaimedJob, Lease } from '../../../model/job.js';
import type { ClaimRequest, ExchangeRequest, ExchangeResult, Settlement } from '../../job-store.js';
import { furtherClaim } from '../../payload-room.js';
import { isGone, toSettledRow } from '../job-row.js';
import type { Candidates, Claimed, MysqlClaimer } from './mysql-claimer.js';
import { retryMysql, UndoTransaction, type MysqlConnection, type MysqlConnections } from './mysql-pool.js';
import { deleteCompletedStatement, lockHeldStatement, run, settleStatement, slicesOf } from './mysql-statements.js';

/** From so many outcomes on they are written while jobs are claimed on another connection: that saves more than a commit costs. */
const manyOutcomes = 100;

const nothing: Claimed = { jobs: [], isFull: false };

/** What came of one transaction. */
interface Round {
  readonly lost: readonly Lease[];
  readonly found: Claimed;
}

/**
 * Settles and claims in one short transaction, or in two at the same time. It first takes for granted that every claim is held still; where
 * the counts say otherwise it undoes all and begins again, this time asking which ones are lost.
 */
export class MysqlExchange {
  constructor(
    private readonly connections: MysqlConnections,
    private readonly table: string,
    private readonly claimer: MysqlClaimer,
  ) {}

  async exchange({ settle, claim }: ExchangeRequest): Promise<ExchangeResult> {
    if (claim === undefined) return { lost: (await this.round(settle, async () => nothing)).lost, claimed: [] };
    if (settle.length < manyOutcomes) return this.together(settle, claim);
    const [settled, found] = await Promise.allSettled([
      this.round(settle, async () => nothing),
      this.together([], claim),
    ]);
    if (found.status === 'rejected') throw found.reason;
    if (settled.status === 'fulfilled') return { lost: settled.value.lost, claimed: found.value.claimed };
    await this.giveBack(found.value.claimed);
    throw settled.reason;
  }

  /** Nobody will hear of these claims. Should this fail as well, they are found under our name before the next claim. */
  private async giveBack(claimed: readonly ClaimedJob[]): Promise<void> {
    const released = claimed.map(({ id, token }) => ({
      id,
      token,
      outcome: { kind: 'released', delayMs: 0 } as const,
    }));
    await this.round(released, async () => nothing).catch(() => undefined);
  }

  private async together(settle: readonly Settlement[], claim: ClaimRequest): Promise<ExchangeResult> {
    const first = await this.claimer.candidates(claim);
    if (first.ids.length === 0 && settle.length === 0) return { lost: [], claimed: [] };
    const { lost, found } = await this.round(settle, (connection) => this.claimer.claim(connection, first, claim));
    return { lost, claimed: [...found.jobs, ...(await this.claimFurther(first, found, claim))] };
  }

  private async claimFurther(seen: Candidates, found: Claimed, claim: ClaimRequest): Promise<readonly ClaimedJob[]> {
    if (!this.claimer.isCrowdedOut(seen, found, claim)) return [];
    const rest = furtherClaim(claim, found.jobs);
    const next = await this.claimer.candidates(rest);
    const more = await this.round([], (connection) => this.claimer.claim(connection, next, rest));
    return [...more.found.jobs, ...(await this.claimFurther(next, more.found, rest))];
  }

  private async round(
    settle: readonly Settlement[],
    claim: (connection: MysqlConnection) => Promise<Claimed>,
  ): Promise<Round> {
    try {
      return await this.inTransaction(async (connection) => {
        await this.settleAll(connection, settle);
        return { lost: [], found: await claim(connection) };
      });
    } catch (error) {
      if (!(error instanceof UndoTransaction)) throw error;
    }
    return this.inTransaction(async (connection) => {
      const lost = await this.findLost(connection, settle);
      const tokens = new Set(lost.map(({ token }) => token));
      await this.settleAll(
        connection,
        settle.filter(({ token }) => !tokens.has(token)),
      );
      return { lost, found: await claim(connection) };
    });
  }

  private inTransaction<T>(work: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    return retryMysql(() => this.connections.transaction(work));
  }

  private async settleAll(connection: MysqlConnection, settle: readonly Settlement[]): Promise<void> {
    const completed = settle.filter(isGone);
    const others = settle.filter((settlement) => !isGone(settlement)).map(toSettledRow);
    for (const slice of slicesOf(completed)) {
      const { affected } = await run(connection, deleteCompletedStatement(this.table, slice));
      if (affected !== slice.length) throw new UndoTransaction();
    }
    for (const slice of slicesOf(others)) {
      const { affected } = await run(connection, settleStatement(this.table, slice));
      if (affected !== slice.length) throw new UndoTransaction();
    }
  }

  private async findLost(connection: MysqlConnection, settle: readonly Settlement[]): Promise<readonly Lease[]> {
    const held = new Set<unknown>();
    for (const slice of slicesOf(settle)) {
      const { rows } = await run(connection, lockHeldStatement(this.table, slice));
      for (const row of rows) held.add(row['claim_token']);
    }
    return settle.filter(({ token }) => !held.has(token)).map(({ id, token }) => ({ id, token }));
  }
}
