import type { ClaimRequest, QueueScope } from '../job-store.js';
import { pauseSlot } from './slot.js';
import { toText, type Row } from './job-row.js';

/**
 * Pending jobs that are alike to a claim: the index keeps them together, by the moment at which they are due. A claim looks at the head of
 * each stream and merges them, so that neither the jobs behind nor those of other streams cost it anything.
 */
export interface Stream {
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
}

export function toStream(row: Row): Stream {
  return { type: toText(row['job_type']), queue: toText(row['queue']), priority: Number(row['priority']) };
}

export function isInScope(queue: string, scope: QueueScope | undefined): boolean {
  if (scope === undefined) return true;
  return 'only' in scope ? scope.only.includes(queue) : !scope.except.includes(queue);
}

export function isPaused({ type, queue }: Stream, slots: ReadonlySet<unknown>): boolean {
  return slots.has(pauseSlot({ kind: 'type', name: type })) || slots.has(pauseSlot({ kind: 'queue', name: queue }));
}

/** How many jobs of a type a claim may take at the most, where it has a limit. */
export function capOf(caps: ClaimRequest['caps'], type: string): number | undefined {
  return caps !== undefined && Object.hasOwn(caps, type) ? caps[type] : undefined;
}
