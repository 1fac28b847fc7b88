import type { QueryRunner } from 'typeorm';
import { isUndone, transactionUndone } from './rollbacks.js';

const shared = Symbol('the runner that is shared');

/** A query runner that one piece of work has for itself, though others have the same. */
export interface SealableRunner {
  readonly runner: QueryRunner;
  /** Refuses everything from now on, for this piece of work alone. */
  seal(): void;
}

/**
 * @param managerOf Makes the EntityManager that the runner names as its own.
 * @param isUndoing Says of the error of a statement whether the database has undone the whole transaction over it: then it is sealed.
 */
export function sealable(
  target: QueryRunner,
  managerOf: (runner: QueryRunner) => unknown,
  isUndoing: (error: unknown) => boolean = () => false,
): SealableRunner {
  let isSealed = false;
  const query = async (...statement: Parameters<QueryRunner['query']>): Promise<unknown> => {
    try {
      return (await target.query.apply(runner, statement)) as unknown;
    } catch (error) {
      if (isUndoing(error)) transactionUndone(target);
      throw error;
    }
  };
  const made: { manager?: unknown } = {};
  const runner: QueryRunner = new Proxy(target, {
    get(real, key): unknown {
      if (key === shared) return real;
      if (key === 'isReleased') return isSealed || real.isReleased || isUndone(real);
      if (key === 'query') return query;
      if (key === 'manager') return made.manager;
      return Reflect.get(real, key) as unknown;
    },
  });
  made.manager = managerOf(runner);
  return { runner, seal: () => (isSealed = true) };
}

/** The runner by which TypeORM tells of the end of a transaction. */
export function sharedRunner(runner: QueryRunner): QueryRunner {
  return (Reflect.get(runner, shared) as QueryRunner | undefined) ?? runner;
}

/** How deep the transactions are nested that are open on it, 0 for none: TypeORM keeps that to itself. `undefined` should it not do so any more. */
export function depthOf(runner: QueryRunner): unknown {
  return Reflect.get(runner, 'transactionDepth');
}
