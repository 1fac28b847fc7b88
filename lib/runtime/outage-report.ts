import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import { startTimer } from '../model/timer.js';

/** How long nothing may fail before an outage counts as over. */
const peaceMs = 5_000;

/**
 * Tells of outages of one store: twice for each, however many parts of this process meet it and however often the store comes and goes
 * meanwhile. An outage begins with the first failure, and is over when everything that failed has had its answer and nothing has failed for some
 * seconds. Only the telling waits for that: work goes on with the first answer.
 */
export class OutageReport {
  private readonly failing = new Set<object>();
  private since: number | undefined;
  private answeredAt = 0;
  private stopTimer: (() => void) | undefined;

  constructor(
    private readonly events: JobEvents,
    private readonly clock: Clock,
  ) {}

  /** Whether an outage has been told of, and not its end. */
  get isOn(): boolean {
    return this.since !== undefined;
  }

  /** @param source Who met the failure, and will say when it has an answer. */
  failed(source: object, error: unknown): void {
    this.failing.add(source);
    this.stopTimer?.();
    if (this.since !== undefined) return;
    this.since = this.clock.monotonic();
    this.events.emit('store-down', { error });
  }

  succeeded(source: object): void {
    if (!this.failing.delete(source) || this.failing.size > 0) return;
    this.answeredAt = this.clock.monotonic();
    this.stopTimer = this.startTimer(() => this.end());
  }

  /** Nobody asks the store any more. If it answered, that is told now, since nobody would later. */
  close(): void {
    this.stopTimer?.();
    if (this.failing.size === 0) this.end();
  }

  private end(): void {
    if (this.since === undefined) return;
    const outageMs = this.answeredAt - this.since;
    this.since = undefined;
    this.events.emit('store-up', { outageMs });
  }

  private startTimer(fire: () => void): () => void {
    return this.clock.startTimer?.(peaceMs, fire) ?? startTimer(peaceMs, fire, 'unref');
  }
}
