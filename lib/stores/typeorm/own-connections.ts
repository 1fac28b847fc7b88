import type { DataSource } from 'typeorm';
import { closeOwnDataSource, openOwnDataSource, type StartUp } from './own-data-source.js';

interface Opened<T> {
  readonly own: DataSource;
  readonly way: T;
}

/**
 * A connection for one purpose only, or a few, opened when the first is needed.
 *
 * Heartbeats have one: connections can go silent without an end, and whatever waits on one holds it for its whole time-out. Were they
 * shared, a few such statements would keep every heartbeat from the database, and leases would end although a new connection would work.
 */
export class OwnConnections<T> {
  private opening: Promise<Opened<T>> | undefined;

  /** @param wayOf How the dialect reaches the database through a DataSource. */
  constructor(
    private readonly app: DataSource,
    private readonly wayOf: (own: DataSource) => T,
    private readonly more: { readonly connections?: number; readonly startUp?: StartUp } = {},
  ) {}

  async way(): Promise<T> {
    this.opening ??= this.open();
    try {
      return (await this.opening).way;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const { opening } = this;
    this.opening = undefined;
    if (opening !== undefined) await closeOwnDataSource(opening.then(({ own }) => own));
  }

  private async open(): Promise<Opened<T>> {
    const own = await openOwnDataSource(this.app, this.more.connections ?? 1, this.more.startUp);
    return { own, way: this.wayOf(own) };
  }
}

/** How many of these connections are left for everything else, when heartbeats have theirs. */
export function besideHeart(connections: number): number {
  return Math.max(1, connections - 1);
}

/** How long a heartbeat waits for its answer, milliseconds: then there is time for another one, on a new connection. */
export function heartbeatAnswerMs(leaseMs: number): number {
  return Math.ceil(leaseMs / 3);
}
