/**
 * @typedef {object} RoleParts
 * @property {import('../contestant.mjs').Contestant} contestant
 * @property {any} settings
 * @property {{ tell: (kind: string, values?: object) => void, hear: (kind: string) => Promise<void> }} link
 */

/** What a child process can be made to do; loaded one by one, so that it holds nothing that it does not need. */
const loaders = {
  drain: async () => (await import('./drain.mjs')).drain,
  enqueue: async () => (await import('./enqueue.mjs')).enqueue,
  latency: async () => (await import('./latency.mjs')).latency,
  idle: async () => (await import('./idle.mjs')).idle,
  claim: async () => (await import('./claim.mjs')).claim,
  limits: async () => (await import('./limits.mjs')).limits,
  stall: async () => (await import('./stall.mjs')).stall,
  memoryDrain: async () => (await import('./memory.mjs')).memoryDrain,
  memoryWaiting: async () => (await import('./memory.mjs')).memoryWaiting,
};

/** @returns {Promise<(parts: RoleParts) => Promise<void>>} */
export function role(name) {
  return loaders[name]();
}
