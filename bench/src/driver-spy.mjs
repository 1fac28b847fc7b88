import { libraryCopy } from './library-copy.mjs';

/**
 * Records the statements that the library sends while `run` runs, in the order of their sending.
 *
 * @param {'postgres' | 'mysql' | 'sqlite'} server
 * @param {() => Promise<unknown>} run
 * @returns {Promise<{ text: string, values: unknown[] }[]>}
 */
export async function recordStatements(server, run) {
  const statements = [];
  const restore = spies[server]((text, values) => statements.push({ text, values: values ?? [] }));
  try {
    await run();
  } finally {
    restore();
  }
  return statements;
}

/**
 * Counts the statements that the library sends from now on. A PRAGMA is none: it asks SQLite for a number that it has at hand.
 *
 * @param {'postgres' | 'mysql' | 'sqlite'} server
 * @returns {() => number}
 */
export function countStatements(server) {
  let count = 0;
  spies[server]((text) => {
    if (!text.startsWith('PRAGMA')) count += 1;
  });
  return () => count;
}

/**
 * Times the blocks on SQLite from now on: statements, and transactions from their begin to their commit, which are synchronous here.
 *
 * @returns {() => number} The longest one so far, milliseconds.
 */
export function timeBlocks() {
  const Database = libraryCopy('better-sqlite3');
  let longest = 0;
  let begunAt;
  const timed = (original) =>
    function timedCall(...parameters) {
      const startedAt = performance.now();
      const [text] = parameters;
      if (text === 'BEGIN IMMEDIATE') begunAt = startedAt;
      try {
        return original.apply(this, parameters);
      } finally {
        const since = text === 'COMMIT' ? begunAt : startedAt;
        longest = Math.max(longest, performance.now() - since);
      }
    };
  const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1'));
  for (const name of ['all', 'get', 'run']) statement[name] = timed(statement[name]);
  Database.prototype.exec = timed(Database.prototype.exec);
  return () => longest;
}

const spies = {
  postgres(record) {
    return replace(libraryCopy('pg').Client.prototype, ['query'], ([query, values]) =>
      typeof query === 'string' ? record(query, values) : record(query.text, query.values ?? values),
    );
  },
  mysql(record) {
    return replace(libraryCopy('mysql2').Connection.prototype, ['execute', 'query'], ([query, values]) =>
      typeof query === 'string' ? record(query, values) : record(query.sql, query.values ?? values),
    );
  },
  sqlite(record) {
    const Database = libraryCopy('better-sqlite3');
    const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1'));
    return replace(statement, ['all', 'get', 'run', 'iterate'], (values, { source }) => record(source, values));
  },
};

/** Puts a function in front of methods; returns the way back. */
function replace(prototype, names, look) {
  const originals = names.map((name) => [name, prototype[name]]);
  for (const [name, original] of originals) {
    prototype[name] = function spied(...parameters) {
      look(parameters, this);
      return original.apply(this, parameters);
    };
  }
  return () => {
    for (const [name, original] of originals) prototype[name] = original;
  };
}
