import { Redis } from 'ioredis';

export const redisUrl = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';

/**
 * @template T
 * @param {(client: Redis) => Promise<T>} run
 * @returns {Promise<T>}
 */
export async function withRedis(run) {
  const client = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
  // What it says here, the command under way says too; unheard it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await run(client);
  } finally {
    client.disconnect();
  }
}

export async function removeKeys(prefix) {
  await withRedis(async (client) => {
    for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 10_000 })) {
      if (keys.length > 0) await client.unlink(keys);
    }
  });
}

/** Commands that the server has executed so far. */
export async function redisCommands() {
  const info = await withRedis((client) => client.info('stats'));
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
}

/** What the report says about the server. */
export async function describeRedis() {
  return withRedis(async (client) => {
    const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1];
    const [, appendonly] = await client.config('GET', 'appendonly');
    const [, save] = await client.config('GET', 'save');
    return { name: 'Redis', version, settings: { appendonly, save: save || 'off' } };
  });
}
