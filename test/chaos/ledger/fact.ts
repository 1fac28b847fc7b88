/** What becomes of the transaction in which a job is enqueued; `plain` is none. */
export type Fate = 'plain' | 'commit' | 'rollback';

export type Kind =
  | 'quick'
  | 'slow'
  | 'polite'
  | 'flaky'
  | 'doomed'
  | 'blocking'
  | 'timeout'
  | 'parent'
  | 'widow'
  | 'unlucky'
  | 'suicide';

export type Harm =
  'kill' | 'terminate' | 'stop' | 'cut' | 'deafen' | 'stall' | 'refuse' | 'freeze' | 'restart' | 'crash' | 'lock';

/** What a process of the run, or the one that does it harm, has seen. */
export type Fact =
  | { readonly fact: 'up' }
  | { readonly fact: 'boot failed'; readonly error: string }
  /** Its event loop stood still for so long, until now. */
  | { readonly fact: 'lag'; readonly ms: number }
  /** An error that nobody caught. */
  | { readonly fact: 'crash'; readonly error: string }
  /** Node warned, of listeners that pile up, say. */
  | { readonly fact: 'warning'; readonly text: string }
  | { readonly fact: 'stopping' }
  | { readonly fact: 'stopped' }
  | { readonly fact: 'log'; readonly line: string }
  /** About to enqueue. */
  | { readonly fact: 'asked'; readonly key: string; readonly kind: Kind; readonly fate: Fate }
  /** The queue has confirmed the job, and the transaction, if any, has committed. */
  | { readonly fact: 'acked'; readonly key: string; readonly id: string }
  /** An error instead of an answer: it may exist or not. */
  | { readonly fact: 'refused'; readonly key: string; readonly error: string }
  | {
      readonly fact: 'start';
      readonly run: string;
      readonly key: string;
      readonly id: string;
      readonly kind: Kind;
      readonly attempt: number;
    }
  | {
      readonly fact: 'end';
      readonly run: string;
      readonly key: string;
      readonly how: 'completed' | 'threw';
      /** Why its signal was aborted, if it was. */
      readonly aborted: string | undefined;
      readonly error: string | undefined;
    }
  /** The handler kills its own process now. */
  | { readonly fact: 'suicide'; readonly key: string }
  | { readonly fact: 'spawned' }
  /** Told to end, since the run is over. */
  | { readonly fact: 'dismissed' }
  | { readonly fact: 'exit'; readonly code: number | null; readonly signal: string | null }
  /** Harm was done from this moment on, for so long; `-1` for ever. */
  | { readonly fact: 'harm'; readonly what: Harm; readonly ms: number };

/** Who has seen it, and when. `at` is on the clock that all processes share. */
export type Entry = Fact & { readonly at: number; readonly member: string; readonly pid: number };

/** The member of harm that meets everybody. */
export const everybody = 'everybody';
