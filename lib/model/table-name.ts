import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

export const defaultTableName = 'rws_jobs';

/** A table and the schema before it, where there is one. Both are plain identifiers, not yet quoted. */
export interface TableName {
  readonly schema: string | undefined;
  readonly table: string;
}

/** The longest of our suffixes, with room for later ones, must fit the 63 bytes that PostgreSQL has for a name. */
const longestTable = 50;
const longestSchema = 63;
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Checks a table name without any database: `table`, or `schema.table`.
 *
 * @param option What it is called in messages.
 * @throws InvalidOptionError
 */
export function checkTableName(option: string, name: unknown): string {
  if (typeof name !== 'string') throw new InvalidOptionError(`${option} must be a string, got ${show(name)}`);
  splitTableName(option, name);
  return name;
}

/** @throws InvalidOptionError */
export function splitTableName(option: string, name: string): TableName {
  const [first = '', second, ...others] = name.split('.');
  if (others.length > 0) {
    throw new InvalidOptionError(`${option} must be a table or schema.table, got ${show(name)}`);
  }
  if (second === undefined) return { schema: undefined, table: checkTable(option, first) };
  return { schema: checkPart(option, first, longestSchema), table: checkTable(option, second) };
}

/** @throws InvalidOptionError unless the names of indexes made from this one would be names too. */
export function checkTable(option: string, table: string): string {
  return checkPart(option, table, longestTable);
}

function checkPart(option: string, part: string, longest: number): string {
  if (!identifier.test(part)) {
    throw new InvalidOptionError(
      `${option} must be made of A-Z, a-z, digits and underscores and not begin with a digit, got ${show(part)}`,
    );
  }
  if (part.length > longest) {
    throw new InvalidOptionError(
      `${option} must have at most ${longest} characters, got ${part.length} in ${show(part)}`,
    );
  }
  return part;
}
