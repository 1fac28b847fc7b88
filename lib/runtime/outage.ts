import type { OutageReport } from './outage-report.js';

const firstWaitMs = 100;
const longestWaitMs = 5_000;

/**
 * Counts the failures of the store in a row, as one part of the engine meets them, and says how long to wait before the next try. There is no
 * "give up after N errors": a database that is back is used again.
 */
export class Outage {
  private failures = 0;

  constructor(private readonly report: OutageReport) {}

  get isOn(): boolean {
    return this.failures > 0;
  }

  /** Takes note of a failure and returns how long to wait, milliseconds: exponential, capped, with jitter so that a fleet does not knock at once. */
  failed(error: unknown): number {
    this.report.failed(this, error);
    const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(this.failures, 10));
    this.failures += 1;
    return wait * (0.5 + Math.random() / 2);
  }

  succeeded(): void {
    if (this.failures === 0) return;
    this.failures = 0;
    this.report.succeeded(this);
  }
}
