const loadOurs = (server) => async (id) => (await import('./ours.mjs')).ours({ id, server });
const loadGraphileWorker = async (id) => (await import('./graphile-worker.mjs')).graphileWorker(id);
const loadRawPostgres = (shape) => async (id) => (await import('./raw-postgres.mjs')).rawPostgres(id, shape);
const loadRawMysql = (shape) => async (id) => (await import('./raw-mysql.mjs')).rawMysql(id, shape);
const loadRawSqlite = (shape) => async (id) => (await import('./raw-sqlite.mjs')).rawSqlite(id, shape);

/** Loaded only where they are needed: a child process should hold no other library than its own. */
const entries = {
  ours: { server: 'postgres', load: loadOurs('postgres') },
  'graphile-worker': { server: 'postgres', load: loadGraphileWorker },
  'graphile-worker-preset': { server: 'postgres', load: loadGraphileWorker },
  'graphile-worker-default': { server: 'postgres', load: loadGraphileWorker },
  'pg-boss': { server: 'postgres', load: async () => (await import('./pg-boss.mjs')).pgBoss },
  bullmq: { server: 'redis', load: async () => (await import('./bullmq.mjs')).bullmq },
  'bullmq-postgres': { server: 'postgres', load: async () => (await import('./bullmq.mjs')).bullmqPostgres },
  'raw-postgres-500': { server: 'postgres', load: loadRawPostgres({ batch: 500 }) },
  'raw-postgres-1000': { server: 'postgres', load: loadRawPostgres({ batch: 1_000 }) },
  'raw-postgres-2000': { server: 'postgres', load: loadRawPostgres({ batch: 2_000 }) },
  'raw-postgres-1000-twice': { server: 'postgres', load: loadRawPostgres({ batch: 1_000, lanes: 2 }) },
  'narrow-postgres-1000': { server: 'postgres', load: loadRawPostgres({ batch: 1_000, isNarrow: true }) },
  'ours-mysql': { server: 'mysql', load: loadOurs('mysql') },
  'raw-mysql-100': { server: 'mysql', load: loadRawMysql({ batch: 100 }) },
  'raw-mysql-1000': { server: 'mysql', load: loadRawMysql({ batch: 1_000 }) },
  'narrow-mysql-1000': { server: 'mysql', load: loadRawMysql({ batch: 1_000, isNarrow: true }) },
  'ours-sqlite': { server: 'sqlite', load: loadOurs('sqlite') },
  'raw-sqlite-100': { server: 'sqlite', load: loadRawSqlite({ batch: 100 }) },
  'raw-sqlite-1000': { server: 'sqlite', load: loadRawSqlite({ batch: 1_000 }) },
  'narrow-sqlite-1000': { server: 'sqlite', load: loadRawSqlite({ batch: 1_000, isNarrow: true }) },
};

export const contestantIds = Object.keys(entries);

/** @returns {import('../contestant.mjs').Contestant['server']} */
export function serverOf(id) {
  return entryOf(id).server;
}

/**
 * @param {string} id
 * @returns {Promise<import('../contestant.mjs').Contestant>}
 */
export async function contestant(id) {
  return entryOf(id).load(id);
}

function entryOf(id) {
  const entry = entries[id];
  if (entry === undefined) throw new Error(`no contestant '${id}'; there are ${contestantIds.join(', ')}`);
  return entry;
}
