import type { Clock } from '../model/clock.js';
import type { Statistics, StatisticsRow } from '../stores/statistics.js';

/** The statistics of a test. Nothing of them gets lost on the way, so a row that comes is a new one, of the same minute perhaps. */
export class TestStatistics implements Statistics {
  readonly takesParts = true;
  private rows: readonly StatisticsRow[] = [];

  constructor(private readonly clock: Clock) {}

  async record(rows: readonly StatisticsRow[]): Promise<void> {
    this.rows = [...this.rows, ...rows];
  }

  async read(fromMinute: number): Promise<readonly StatisticsRow[]> {
    return this.rows.filter(({ minute }) => minute >= fromMinute);
  }

  async prune(beforeMinute: number): Promise<void> {
    this.rows = this.rows.filter(({ minute }) => minute >= beforeMinute);
  }

  async now(): Promise<number> {
    return this.clock.now();
  }
}
