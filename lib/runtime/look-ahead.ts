/** What the buffer should last for, milliseconds, beside two round trips to the store. */
const cushionMs = 20;
/** What the buffer may hold of payloads, characters: a backlog of large ones, claimed at once, would end the process. */
const mostCharacters = 16_000_000;

/**
 * Decides how many jobs to claim beyond the free workers, from the pace at which jobs have lately finished.
 *
 * Short jobs stream: the next ones must be at hand when a worker gets free, or it waits for the store. Long jobs must not be claimed
 * ahead at all: they would wait here while another process is idle, and a crash would interrupt them for nothing. So the buffer
 * holds what is expected to start within a few round trips, and nothing when that is less than one job, or when payloads are huge.
 */
export class LookAhead {
  private finished = 0;
  private pace = 0;
  private measuredAt: number;
  /** Characters that a payload is taken to have: those of the largest lately claimed. */
  private weight = 1;

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

  /** Learns from a claim how large payloads are at present. What comes next is mostly like what came last. */
  weigh(claimed: readonly { readonly payload: string }[]): void {
    if (claimed.length === 0) return;
    let largest = 1;
    for (const { payload } of claimed) largest = Math.max(largest, payload.length);
    this.weight = Math.max(largest, this.weight / 2);
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
    const most = Math.min(this.most, mostCharacters / this.weight);
    return Math.floor(Math.min(most, this.pace * (2 * roundTripMs + cushionMs)));
  }
}
