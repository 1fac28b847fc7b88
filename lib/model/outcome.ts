/**
 * How one attempt ended, and so what it costs: a failure costs a retry; an interruption, a release, a snooze and
 * an abandonment cost none.
 *
 * - `completed`: the work is done; the row goes, unless it is to be kept.
 * - `retried`: failed, and due again after `delayMs`; `attempts` grows by one.
 * - `failed`: failed for good; `attempts` grows by one and the row stays, with its error.
 * - `snoozed`: put off by its handler, due after `delayMs`; nothing is counted.
 * - `released`: given back, due after `delayMs` from now; nothing is counted.
 * - `expired`: it was too late to start; the row stays, failed, and nothing is counted.
 * - `abandoned`: its handler ignores the stop. The lease is left to end by itself, so that nobody runs the job beside
 *   it, and that end is not counted as an interruption.
 */
export type Outcome =
  | { readonly kind: 'completed'; readonly keep?: KeptResult | undefined }
  | { readonly kind: 'retried'; readonly delayMs: number; readonly error: string }
  | {
      readonly kind: 'failed';
      readonly error: string;
      /** Milliseconds for which its handler wants the row kept, `Infinity` for ever; `undefined` leaves that to the queue. */
      readonly keepMs?: number | undefined;
    }
  | { readonly kind: 'snoozed'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'released'; readonly delayMs: number }
  | { readonly kind: 'expired'; readonly keepMs?: number | undefined }
  | { readonly kind: 'abandoned' };

export type OutcomeKind = Outcome['kind'];

/** A completed job whose row stays for a while. */
export interface KeptResult {
  /** Milliseconds, `Infinity` for ever. */
  readonly keepMs: number;
  /** What the handler returned, as JSON text; `undefined` where that was nothing, or could not be stored. */
  readonly result: string | undefined;
  /** It is a member of a batch: its row stays until that has ended, and only then does `keepMs` count. Default false. */
  readonly isHeld?: boolean | undefined;
}

/** Something in the app's own code that was put right: the job is as well as it can be, but somebody should know. */
export interface Complaint {
  /** `backoff`: a backoff function gave no wait. `result`: a handler returned what cannot be stored. */
  readonly about: 'backoff' | 'result';
  readonly reason: string;
}
