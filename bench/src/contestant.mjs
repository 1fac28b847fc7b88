/**
 * What is measured: one queue under one setting, on one server. Every contestant has storage of its own (a database, a file, a
 * key prefix), so that none has to live with what another left behind.
 *
 * The measuring process makes and watches the storage; the work is done in child processes, which open sessions.
 *
 * @typedef {object} Contestant
 * @property {string} id Names it on the command line and its storage.
 * @property {string} name Stands in the tables.
 * @property {string} setting What was set, in words.
 * @property {'postgres' | 'mysql' | 'sqlite' | 'redis'} server
 * @property {number} [share] The part of the jobs that it is given where all of them would take minutes. Default 1.
 * @property {() => Promise<void>} setUp Makes its storage, empty.
 * @property {(count: number) => Promise<void>} seed Stores no-op jobs that are due, and brings the storage to rest (vacuumed, analysed).
 * @property {() => Promise<number>} remaining Jobs, at most 1 counted, that are not yet done and acknowledged.
 * @property {() => Promise<void>} tearDown Removes its storage.
 * @property {(run: RunJob) => Promise<Session>} open Connects one process. Nothing runs before `start`.
 * @property {() => Promise<number>} [requests] Statements or commands that its server has had from it so far.
 * @property {() => () => number} [countStatements] The same from inside its process, where the server cannot tell: counts from now on.
 *
 * The work of one job, given what was enqueued.
 * @typedef {(payload: Payload) => Promise<void>} RunJob
 *
 * @typedef {{ n: number, sentAt?: string }} Payload
 *
 * One process's connection to a queue.
 * @typedef {object} Session
 * @property {(payload: Payload) => Promise<unknown>} enqueue Resolves when the job is acknowledged.
 * @property {(payloads: Payload[]) => Promise<unknown>} enqueueMany
 * @property {() => void | Promise<void>} start Begins to run jobs; does not wait for any.
 * @property {() => Promise<void>} close
 */

/**
 * No-op jobs, made in chunks so that none of the contestants has to take 50 000 of them at once.
 *
 * @param {number} count
 * @returns {Generator<Payload[]>}
 */
export function* payloads(count, chunk = 1_000) {
  for (let first = 0; first < count; first += chunk) {
    yield Array.from({ length: Math.min(chunk, count - first) }, (_, index) => ({ n: first + index }));
  }
}
