/** What is asked of TypeORM here; it need not be there. */
interface Runner {
  readonly isTransactionActive: boolean;
}

interface DataSourceLike {
  readonly subscribers: unknown[];
}

interface TransactionEvent {
  readonly queryRunner: Runner;
}

interface Waiting {
  readonly store: () => void;
  readonly afterwards: () => Promise<void>;
}

/**
 * Puts off what is stored in a transaction until it commits, as a database would: a rollback, and nothing was stored. A manager that is a
 * test double has no transaction.
 */
export class Commits {
  private readonly waiting = new Map<Runner, Waiting[]>();
  private readonly sources = new Set<DataSourceLike>();
  private readonly subscriber = {
    afterTransactionCommit: async ({ queryRunner }: TransactionEvent): Promise<void> => {
      // The release of a savepoint is called a commit too; the transaction around it is still open then.
      if (queryRunner.isTransactionActive) return;
      const waiting = this.takeAll(queryRunner);
      for (const { store } of waiting) store();
      await waiting[0]?.afterwards();
    },
    afterTransactionRollback: ({ queryRunner }: TransactionEvent): void => {
      if (!queryRunner.isTransactionActive) this.takeAll(queryRunner);
    },
  };

  /** Says whether there is a transaction, after whose commit `store` will be called, and then `afterwards` once for all of them. */
  afterCommit(manager: unknown, store: () => void, afterwards: () => Promise<void>): boolean {
    const runner = fieldOf(manager, 'queryRunner');
    const source = fieldOf(manager, 'dataSource');
    if (!isRunner(runner) || !runner.isTransactionActive || !isDataSource(source)) return false;
    if (!source.subscribers.includes(this.subscriber)) source.subscribers.push(this.subscriber);
    this.sources.add(source);
    this.waiting.set(runner, [...(this.waiting.get(runner) ?? []), { store, afterwards }]);
    return true;
  }

  detach(): void {
    for (const { subscribers } of this.sources) {
      const place = subscribers.indexOf(this.subscriber);
      if (place !== -1) subscribers.splice(place, 1);
    }
  }

  private takeAll(runner: Runner): readonly Waiting[] {
    const stores = this.waiting.get(runner) ?? [];
    this.waiting.delete(runner);
    return stores;
  }
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function isRunner(value: unknown): value is Runner {
  return typeof fieldOf(value, 'isTransactionActive') === 'boolean';
}

function isDataSource(value: unknown): value is DataSourceLike {
  return Array.isArray(fieldOf(value, 'subscribers'));
}
