/** The families of databases that differ in their data definitions. */
export type SqlFamily = 'postgres' | 'mysql' | 'sqlite';

/** For what MySQL keeps as text that people do not write. */
export const ascii = 'CHARACTER SET ascii COLLATE ascii_bin';
/** Names charset and collation itself: a server's default may be latin1, and may take `sync` and `Sync` for one type. */
export const utf8 = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

export interface ColumnDefinition {
  readonly name: string;
  /** Type and constraints, as they stand behind the name; a family without an entry does without this column. */
  readonly definition: Readonly<Partial<Record<SqlFamily, string>>>;
  /** Whether it can be added to a table that has rows: null or a default will do for them. */
  readonly isAddable: boolean;
}

export interface IndexDefinition {
  /** Comes behind the name of the table. */
  readonly suffix: string;
  /** Columns and condition; a family without an entry does without this index. */
  readonly definition: Readonly<Partial<Record<SqlFamily, string>>>;
  /** Whether it refuses two equal entries. Default no. */
  readonly isUnique?: boolean;
}

/** A further table, made whole: all that belongs to it is made together with it. */
export interface TableDefinition {
  /** Comes behind the name of the job table. */
  readonly suffix: string;
  /** Columns and constraints. */
  readonly definition: Readonly<Record<SqlFamily, string>>;
  /** The columns of each index of its own, by what its name ends with. */
  readonly indexed: Readonly<Record<string, string>>;
}

/** One version of our tables: what it adds to the one before. A shipped one is never edited. */
export interface Migration {
  readonly version: number;
  /** The oldest version whose code still works with this table. */
  readonly compatibleWith: number;
  readonly columns: readonly ColumnDefinition[];
  readonly indexes: readonly IndexDefinition[];
  readonly tables: readonly TableDefinition[];
}
