/** What can be paused over the whole fleet: the jobs of one type, or those in one queue. */
export interface PauseTarget {
  readonly kind: 'type' | 'queue';
  readonly name: string;
}

/**
 * The seam for pauses: they stand in the store, so that every process heeds them, and outlive all of them. What is paused is claimed by
 * nobody; jobs that run go on.
 */
export interface Pauses {
  /** Says whether it was not paused before. */
  pause(target: PauseTarget): Promise<boolean>;
  /** Says whether it was paused. */
  resume(target: PauseTarget): Promise<boolean>;
  list(): Promise<readonly PauseTarget[]>;
}
