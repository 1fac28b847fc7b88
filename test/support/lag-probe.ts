const lookMs = 10;

/** Measures how long the event loop of this process stands still. */
export class LagProbe {
  /** The longest time so far, milliseconds. */
  longestMs = 0;
  private readonly timer: NodeJS.Timeout;
  private before = performance.now();

  constructor() {
    this.timer = setInterval(() => this.look(), lookMs);
    this.timer.unref();
  }

  /** Ends the measurement and returns the longest time. */
  stop(): number {
    clearInterval(this.timer);
    this.look();
    return this.longestMs;
  }

  private look(): void {
    const now = performance.now();
    this.longestMs = Math.max(this.longestMs, now - this.before - lookMs);
    this.before = now;
  }
}
