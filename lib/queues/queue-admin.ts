import { JobsAdmin } from '../admin/jobs-admin.js';
import type { Engine } from '../runtime/engine.js';
import type { StoreDoor } from './store-door.js';

/**
 * The admin of a persistent queue.
 *
 * @param engine That of the queue, while there is one: it hears at once of what is done to jobs that it runs.
 */
export function adminOf(door: StoreDoor, engine: () => Engine | undefined, maxPayloadSize: number): JobsAdmin {
  return new JobsAdmin({
    queries: async () => (await door.ready()).store.queries,
    pauses: async () => (await door.ready()).store.pauses,
    batches: async () => (await door.ready()).store.batches,
    onCancelled: (claims) => engine()?.cancel(claims),
    onBatches: (ids) => engine()?.batchesChanged(ids),
    maxPayloadSize,
  });
}
