/** Where the engine takes its time from. Moments for people and for stores without a clock of their own; intervals from `monotonic`. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds that never jump, for measuring intervals. */
  monotonic(): number;
  /** Whether it goes on only when it is told to, so that nothing that is done takes any time. Default: no. */
  readonly isStill?: boolean;
  /** Calls `fire` once after `delayMs`; returns the way to stop it. Default: a timer of Node. */
  startTimer?(delayMs: number, fire: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
