import { show } from '../model/check.js';
import { InvalidManagerError } from '../model/errors.js';
import type { JobStore } from '../stores/job-store.js';

/** Says which EntityManager the transaction around its caller has; undefined, null, or one without a transaction where there is none. */
export type TransactionResolver = () => unknown;

/**
 * The manager through which a job is to be stored; undefined to store it by itself.
 *
 * @param given What the caller of `enqueue` passes: a manager, `null` for none, undefined for the one around the call, if any.
 * @param resolve The option `transaction`. Without it the store looks.
 * @throws InvalidManagerError when the option returned what is no manager.
 */
export function managerFor(
  given: unknown,
  resolve: TransactionResolver | undefined,
  store: Pick<JobStore, 'ambientManager' | 'handlersManager'>,
): unknown {
  if (given === null) return undefined;
  if (given !== undefined) return given;
  const found = resolve === undefined ? store.ambientManager?.() : checkResolved(resolve());
  return openOnly(found) ?? openOnly(store.handlersManager?.());
}

/** @throws InvalidManagerError */
function checkResolved(found: unknown): unknown {
  if (found === undefined || found === null) return undefined;
  if (typeof found !== 'object' || !('dataSource' in found)) {
    throw new InvalidManagerError(
      `the option transaction must return an EntityManager, or undefined where there is no transaction, got ${show(found)}`,
    );
  }
  return found;
}

function openOnly(manager: unknown): unknown {
  return typeof manager === 'object' && manager !== null && isInTransaction(manager) ? manager : undefined;
}

function isInTransaction(manager: object): boolean {
  const runner: unknown = 'queryRunner' in manager ? manager.queryRunner : undefined;
  const isRunner = typeof runner === 'object' && runner !== null && 'isTransactionActive' in runner;
  if (!isRunner || runner.isTransactionActive !== true) return false;
  return !('isReleased' in runner) || runner.isReleased !== true;
}
