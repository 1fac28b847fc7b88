import { createHash } from 'node:crypto';
import { errorField } from '../retry.js';
import { onEither, say, type PgPool, type PgResult } from './postgres-pool.js';
import type { PgStatement } from './postgres-values.js';

/** More texts than there are kinds of any statement. Past it they are said without a name. */
const mostNames = 100;
/**
 * The server does not know the statement by its name, knows it already, or its answer would look different since the table was changed.
 * Nothing has happened then.
 */
const forgotten = ['26000', '42P05', '0A000'];

/**
 * Says statements by name, so that the server parses each kind of them once a connection, and where it keeps plans, plans it once: some of
 * ours take three times as long to plan as to run. Only for connections that nobody shares.
 */
export class PreparedStatements {
  private readonly names = new Map<string, string>();
  private isGivenUp = false;

  /**
   * @param way Where they are said by name.
   * @param otherwise Where they are said without one, should the server not find what was prepared, or give no connection for it.
   */
  constructor(
    private readonly way: () => PgPool | Promise<PgPool>,
    private readonly otherwise: () => PgPool,
  ) {}

  async say(statement: PgStatement): Promise<PgResult> {
    if (this.isGivenUp) return say(this.otherwise(), statement);
    try {
      return await onEither(this.way, this.otherwise, (isFirst) => (isFirst ? this.named(statement) : statement));
    } catch (error) {
      if (!forgotten.includes(String(errorField(error, 'code')))) throw error;
      this.isGivenUp = true;
      return say(this.otherwise(), statement);
    }
  }

  private named({ text, values }: PgStatement): PgStatement & { readonly name?: string } {
    const known = this.names.get(text);
    if (known !== undefined) return { name: known, text, values };
    if (this.names.size >= mostNames) return { text, values };
    // By its text, so that no other statement can ever be found under the name.
    const name = `nestjs-jobs:${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
    this.names.set(text, name);
    return { name, text, values };
  }
}
