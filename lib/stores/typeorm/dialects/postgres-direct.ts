import type { DataSource } from 'typeorm';
import { closeOwnDataSource, openOwnDataSource } from '../own-data-source.js';
import { errorField } from '../retry.js';

/** A setting of ours that means nothing to the server. A connection on which it is set leads to the server itself. */
const marker = 'nestjs_jobs.direct';
const startUp = { jit: 'off', [marker]: 'on' };
/** What is given up with each of these has nothing to do with settings, and the second try would wait as long. */
const unreachable = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'];

export interface OpenedPostgres {
  readonly own: DataSource;
  /**
   * Whether each connection is one of the server's own, for as long as it is open. Otherwise a pooler stands between, and what is set or
   * prepared on it may be found by other clients, or not be found again.
   */
  readonly isDirect: boolean;
}

/**
 * Opens connections of our own. Poolers that share connections among clients refuse settings that come with the first message, or pass
 * over them: so settings that stay are given this way only. Where that fails, for whatever reason, the store lives without until it is
 * opened again, and what else was wrong the second try says.
 */
export async function openPostgres(app: DataSource, connections: number): Promise<OpenedPostgres> {
  const direct = await openOwnDataSource(app, connections, startUp).catch((error: unknown) => {
    if (unreachable.includes(String(errorField(error, 'code')))) throw error;
    return undefined;
  });
  if (direct !== undefined) {
    if (await hasMarker(direct)) return { own: direct, isDirect: true };
    await closeOwnDataSource(direct);
  }
  return { own: await openOwnDataSource(app, connections), isDirect: false };
}

async function hasMarker(own: DataSource): Promise<boolean> {
  try {
    const rows: readonly { readonly marker: unknown }[] = await own.query(
      `SELECT current_setting('${marker}', true) AS marker`,
    );
    return rows[0]?.marker === 'on';
  } catch (error) {
    await closeOwnDataSource(own);
    throw error;
  }
}
