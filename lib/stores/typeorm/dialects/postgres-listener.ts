import { startTimer } from '../../../model/timer.js';
import { sqlStateOf } from '../retry.js';
import type { PgClient, PgPool } from './postgres-pool.js';

const firstPauseMs = 100;
const longestPauseMs = 30_000;
/** What a server answers that goes down or comes up, or to which the way is cut: operator intervention, connection exceptions. */
const awayClasses = ['57', '08'];

export interface PostgresListenerParts {
  readonly pool: Pick<PgPool, 'Client' | 'options'>;
  readonly channel: string;
  readonly wake: () => void;
  /** Told once when the server refuses the connection, not again until it has stood in between. */
  readonly warn: (message: string) => void;
}

/**
 * LISTEN on a connection of its own, so that a job enqueued elsewhere starts at once instead of at the next poll. A lost connection is
 * opened again for ever, after growing pauses; what was missed in between, the wake after each connect makes good. A server that is away is
 * no news: the worker meets the same outage and reports it. One that refuses just this connection is.
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
    } catch (error) {
      this.lost(client, error);
      return;
    }
    if (this.client !== client) return;
    this.isConnected = true;
    this.failures = 0;
    this.hasWarned = false;
    wake();
  }

  /** Comes more than once for one client: by its error, by its end, by its failed connect. */
  private lost(client: PgClient, error?: unknown): void {
    if (this.client !== client) return;
    this.client = undefined;
    this.isConnected = false;
    void closeQuietly(client);
    if (!this.hasWarned && isRefusal(error)) {
      this.hasWarned = true;
      this.parts.warn(
        `the server refuses the connection that listens for new jobs (${sqlStateOf(error)}); until it takes it, jobs of other processes are found by polling`,
      );
    }
    const longest = Math.min(firstPauseMs * 2 ** this.failures, longestPauseMs);
    this.failures += 1;
    const pauseMs = longest * (0.5 + Math.random() / 2);
    this.cancelPause = startTimer(pauseMs, () => void (this.isStopped || this.connect()), 'unref');
  }
}

/** Whether the server itself has said no, and not because it is away. */
function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !awayClasses.includes(state.slice(0, 2));
}

/** A connection that is broken already has nothing left to say that matters. */
async function closeQuietly(client: PgClient): Promise<void> {
  try {
    await client.end();
  } catch {
    // It was broken before.
  }
}
