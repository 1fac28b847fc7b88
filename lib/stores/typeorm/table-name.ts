import { show } from '../../model/check.js';
import { InvalidOptionError } from '../../model/errors.js';

/** Where the job table lies. Both parts are checked identifiers, not yet quoted. */
export interface TableName {
  readonly schema: string | undefined;
  readonly table: string;
}

/** What the DataSource and its database add to the option `tableName`. */
export interface TableNaming {
  readonly entityPrefix: string;
  readonly defaultSchema: string | undefined;
  readonly hasSchemas: boolean;
}

/** The longest of our suffixes (`_schema`, `_pending`, `_running`), with room for later ones, must fit the 63 bytes of PostgreSQL. */
const longestTable = 50;
const longestSchema = 63;
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Checks the option `tableName` before there is any connection: `table`, or `schema.table`.
 *
 * @throws InvalidOptionError
 */
export function checkTableName(tableName: unknown): string {
  if (typeof tableName !== 'string') throw refusal(`must be a string, got ${show(tableName)}`);
  splitTableName(tableName);
  return tableName;
}

/**
 * The table that `tableName` means in one DataSource: its `entityPrefix` goes before the table, its `schema` counts where the
 * name has none.
 *
 * @throws InvalidOptionError
 */
export function resolveTableName(tableName: string, naming: TableNaming): TableName {
  const { schema, table } = splitTableName(tableName);
  if (schema !== undefined && !naming.hasSchemas) {
    throw refusal(`has no schema in SQLite, got ${show(tableName)}; leave out the part before the dot`);
  }
  const prefixed = `${naming.entityPrefix}${table}`;
  checkPart(
    prefixed,
    longestTable,
    naming.entityPrefix === '' ? '' : `, with the DataSource's entityPrefix before it,`,
  );
  return { schema: schema ?? naming.defaultSchema, table: prefixed };
}

function splitTableName(tableName: string): TableName {
  const parts = tableName.split('.');
  const [first, second] = parts;
  if (first === undefined || parts.length > 2) throw refusal(`is a table, or schema.table, got ${show(tableName)}`);
  if (second === undefined) return { schema: undefined, table: checkPart(first, longestTable) };
  return { schema: checkPart(first, longestSchema), table: checkPart(second, longestTable) };
}

function checkPart(part: string, longest: number, context = ''): string {
  if (!identifier.test(part)) {
    throw refusal(
      `has only letters (A-Z, a-z), digits and underscores${context} and does not begin with a digit, got ${show(part)}`,
    );
  }
  if (part.length > longest) {
    throw refusal(
      `has at most ${longest} characters${context} so that the names of its indexes fit, got ${part.length} in ${show(part)}`,
    );
  }
  return part;
}

function refusal(rule: string): InvalidOptionError {
  return new InvalidOptionError(`tableName ${rule}`);
}

/** The names of our tables and indexes, quoted for one database. */
export interface SqlNames {
  readonly name: TableName;
  /** Quoted, with the schema where there is one. */
  readonly table: string;
  readonly versions: string;
  /** An index has no schema of its own: it lies with its table. */
  index(suffix: string): string;
}

export function sqlNames(name: TableName, quote: '"' | '`'): SqlNames {
  const quoted = (part: string): string => `${quote}${part}${quote}`;
  const path = (table: string): string =>
    name.schema === undefined ? quoted(table) : `${quoted(name.schema)}.${quoted(table)}`;
  return {
    name,
    table: path(name.table),
    versions: path(versionTableOf(name.table)),
    index: (suffix) => quoted(indexNameOf(name.table, suffix)),
  };
}

export function versionTableOf(table: string): string {
  return `${table}_schema`;
}

export function indexNameOf(table: string, suffix: string): string {
  return `${table}_${suffix}`;
}
