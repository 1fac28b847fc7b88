import type { QueryRunner } from 'typeorm';
import { InvalidManagerError } from '../../model/errors.js';

interface Rollbacks {
  /** How many have begun, those to savepoints included. */
  readonly count: number;
  /** Whether the last one is on its way to the database. */
  readonly isUnderWay: boolean;
}

const none: Rollbacks = { count: 0, isUnderWay: false };

/** What every store knows of the runners of an app. */
const known = new WeakMap<QueryRunner, Rollbacks>();

/** Runners whose transaction the server has undone by itself, whole; what is said on such a connection now is in none. */
const undone = new WeakSet<QueryRunner>();

/** As MySQL and MariaDB do with the victim of a deadlock. */
export function transactionUndone(runner: QueryRunner): void {
  undone.add(runner);
}

export function isUndone(runner: QueryRunner): boolean {
  return undone.has(runner);
}

export function transactionEnded(runner: QueryRunner): void {
  undone.delete(runner);
}

export function rollbackBegun(runner: QueryRunner): void {
  known.set(runner, { count: of(runner).count + 1, isUnderWay: true });
}

export function rollbackEnded(runner: QueryRunner): void {
  known.set(runner, { ...of(runner), isUnderWay: false });
}

/**
 * Guards what joins the transaction that is open on a runner. Behind a ROLLBACK that is on its way the connection would carry out a statement
 * by itself, outside of any transaction: so it happens to whoever works beside the one whose error ends the transaction, as in `Promise.all`.
 *
 * @returns Throws from the moment at which the transaction is being rolled back.
 * @throws InvalidManagerError when it is so already.
 */
export function guardOf(runner: QueryRunner): () => void {
  if (of(runner).isUnderWay || isUndone(runner)) throw rolledBack();
  const { count } = of(runner);
  return () => {
    if (of(runner).count !== count || isUndone(runner)) throw rolledBack();
  };
}

function of(runner: QueryRunner): Rollbacks {
  return known.get(runner) ?? none;
}

function rolledBack(): InvalidManagerError {
  return new InvalidManagerError(
    "the manager's transaction has been rolled back, so nothing is stored: let all that goes on in a transaction end before it does, and " +
      'begin a new one after a deadlock',
  );
}
