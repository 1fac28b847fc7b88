/**
 * How one attempt ended, and so what it costs: a failure costs a retry; an interruption, a release and
 * an abandonment cost none.
 *
 * - `completed`: the work is done; the row goes.
 * - `retried`: failed, and due again after `delayMs`; `attempts` grows by one.
 * - `failed`: failed for good; `attempts` grows by one and the row stays, with its error.
 * - `released`: given back, due after `delayMs` from now; nothing is counted.
 * - `expired`: it was too late to start; the row stays, failed, and nothing is counted.
 * - `abandoned`: its handler ignores the stop. The lease is left to end by itself, so that nobody runs the job beside
 *   it, and that end is not counted as an interruption.
 */
export type Outcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'retried'; readonly delayMs: number; readonly error: string }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'released'; readonly delayMs: number }
  | { readonly kind: 'expired' }
  | { readonly kind: 'abandoned' };

export type OutcomeKind = Outcome['kind'];
