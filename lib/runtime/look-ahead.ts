/** What the buffer should last for, milliseconds, beside two round trips to the store. */
const cushionMs = 20;

/**
 * Decides how many jobs to claim beyond the free workers, from the pace at which jobs have lately finished.
 *
 * Short jobs stream: the next ones must be at hand when a worker gets free, or it waits for the store. Long jobs must not be claimed
 * ahead at all: they would wait here while another process is idle, and a crash would interrupt them for nothing. So the buffer
 * holds what is expected to start within a few round trips, and nothing when that is less than one job. What large payloads may come to is
 * for `Flow` to say.
 */
export class LookAhead {
  private finished = 0;
  private pace = 0;
  private measuredAt: number;

  constructor(
    private readonly most: number,
    now: number,
  ) {
    this.measuredAt = now;
  }

  /** Counts a finished job. */
  count(): void {
    this.finished += 1;
  }

  /**
   * How many jobs to have at hand beyond the workers.
   *
   * @param now Monotonic milliseconds.
   * @param roundTripMs How long the last exchange with the store took.
   */
  want(now: number, roundTripMs: number): number {
    const elapsed = now - this.measuredAt;
    if (elapsed >= 1) {
      this.pace = (this.pace + this.finished / elapsed) / 2;
      this.finished = 0;
      this.measuredAt = now;
    }
    return Math.floor(Math.min(this.most, this.pace * (2 * roundTripMs + cushionMs)));
  }
}
