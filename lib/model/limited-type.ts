import type { RateLimit } from './rate-limit.js';

/** A job type about which something is said that the whole fleet has to keep to. */
export interface LimitedType {
  readonly type: string;
  /** How many of its jobs run at the same time, over all processes. */
  readonly globalConcurrency?: number | undefined;
  readonly rateLimit?: RateLimit | undefined;
  /** Whether some of its jobs have a key: those with the same one run one after the other. */
  readonly isKeyed?: boolean | undefined;
}
