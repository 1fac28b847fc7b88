import { drain } from './drain.mjs';
import { enqueue } from './enqueue.mjs';
import { idle } from './idle.mjs';
import { latency } from './latency.mjs';
import { memoryDrain, memoryWaiting } from './memory.mjs';
import { claim } from './claim.mjs';

/**
 * What a child process can be made to do, by name.
 *
 * @typedef {object} RoleParts
 * @property {import('../contestant.mjs').Contestant} contestant
 * @property {any} settings
 * @property {{ tell: (kind: string, values?: object) => void, hear: (kind: string) => Promise<void> }} link
 *
 * @type {Record<string, (parts: RoleParts) => Promise<void>>}
 */
export const roles = { drain, enqueue, idle, latency, memoryDrain, memoryWaiting, claim };
