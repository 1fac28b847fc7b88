const loadOurs = (server) => async (id) => (await import('./ours.mjs')).ours({ id, server });
const loadGraphileWorker = async (id) => (await import('./graphile-worker.mjs')).graphileWorker(id);
const loadRawPostgres = (batch) => async () => (await import('./raw-postgres.mjs')).rawPostgres({ batch });
const loadRawMysql = (batch) => async () => (await import('./raw-mysql.mjs')).rawMysql({ batch });
const loadRawSqlite = (batch) => async () => (await import('./raw-sqlite.mjs')).rawSqlite({ batch });

/** Loaded only where they are needed: a child process should hold no other library than its own. */
const loaders = {
  ours: loadOurs('postgres'),
  'graphile-worker': loadGraphileWorker,
  'graphile-worker-preset': loadGraphileWorker,
  'graphile-worker-default': loadGraphileWorker,
  'pg-boss': async () => (await import('./pg-boss.mjs')).pgBoss,
  bullmq: async () => (await import('./bullmq.mjs')).bullmq,
  'bullmq-postgres': async () => (await import('./bullmq.mjs')).bullmqPostgres,
  'raw-postgres-500': loadRawPostgres(500),
  'raw-postgres-1000': loadRawPostgres(1_000),
  'raw-postgres-2000': loadRawPostgres(2_000),
  'ours-mysql': loadOurs('mysql'),
  'raw-mysql-100': loadRawMysql(100),
  'raw-mysql-1000': loadRawMysql(1_000),
  'ours-sqlite': loadOurs('sqlite'),
  'raw-sqlite-100': loadRawSqlite(100),
  'raw-sqlite-1000': loadRawSqlite(1_000),
};

export const contestantIds = Object.keys(loaders);

/**
 * @param {string} id
 * @returns {Promise<import('../contestant.mjs').Contestant>}
 */
export async function contestant(id) {
  const load = loaders[id];
  if (load === undefined) throw new Error(`no contestant '${id}'; there are ${contestantIds.join(', ')}`);
  return load(id);
}
