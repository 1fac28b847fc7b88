import { startTimer } from '../../../model/timer.js';
import type { PgClient, PgPool } from './postgres-pool.js';

const firstPauseMs = 100;
const longestPauseMs = 30_000;

export interface PostgresListenerParts {
  readonly pool: Pick<PgPool, 'Client' | 'options'>;
  readonly channel: string;
  readonly wake: () => void;
  /** Told once when the connection is lost, not again until it has stood in between. */
  readonly warn: (message: string) => void;
}

/**
 * LISTEN on a connection of its own, so that a job enqueued elsewhere starts at once instead of at the next poll. A lost connection is
 * opened again for ever, after growing pauses; what was missed in between, the wake after each connect makes good.
 */
export class PostgresListener {
  private client: PgClient | undefined;
  private cancelPause: (() => void) | undefined;
  private isConnected = false;
  private isStopped = false;
  private hasWarned = false;
  private failures = 0;

  constructor(private readonly parts: PostgresListenerParts) {}

  start(): void {
    void this.connect();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelPause?.();
    const { client, isConnected } = this;
    this.client = undefined;
    if (client === undefined) return;
    // One that is still on its way to the server ends by its own connect time-out.
    const closing = closeQuietly(client);
    if (isConnected) await closing;
  }

  private async connect(): Promise<void> {
    const { pool, channel, wake } = this.parts;
    const client = new pool.Client(pool.options);
    this.client = client;
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    client.on('notification', () => this.client === client && wake());
    try {
      await client.connect();
      await client.query(`LISTEN "${channel}"`);
    } catch {
      this.lost(client);
      return;
    }
    if (this.client !== client) return;
    this.isConnected = true;
    this.failures = 0;
    this.hasWarned = false;
    wake();
  }

  /** Comes more than once for one client: by its error, by its end, by its failed connect. */
  private lost(client: PgClient): void {
    if (this.client !== client) return;
    this.client = undefined;
    this.isConnected = false;
    void closeQuietly(client);
    if (!this.hasWarned) {
      this.hasWarned = true;
      this.parts.warn(
        'lost the connection that listens for new jobs; jobs of other processes are found by polling until it is back',
      );
    }
    const longest = Math.min(firstPauseMs * 2 ** this.failures, longestPauseMs);
    this.failures += 1;
    const pauseMs = longest * (0.5 + Math.random() / 2);
    this.cancelPause = startTimer(pauseMs, () => void (this.isStopped || this.connect()), 'unref');
  }
}

/** A connection that is broken already has nothing left to say that matters. */
async function closeQuietly(client: PgClient): Promise<void> {
  try {
    await client.end();
  } catch {
    // It was broken before.
  }
}
