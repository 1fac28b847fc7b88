import { claim } from './claim.mjs';
import { drain } from './drain.mjs';
import { enqueue } from './enqueue.mjs';
import { idle } from './idle.mjs';
import { latency } from './latency.mjs';
import { limits } from './limits.mjs';
import { memory } from './memory.mjs';
import { stall } from './stall.mjs';

/**
 * A kind of work that is measured.
 *
 * @typedef {object} Kind
 * @property {string} name For `--only`.
 * @property {string} description
 * @property {(settings: Settings) => Promise<import('../in-turns.mjs').Row[]>} run
 *
 * @typedef {object} Settings
 * @property {number} jobs
 * @property {number} rounds
 * @property {number} latencies Jobs in each round of the latency.
 * @property {number} idleSeconds
 * @property {number} crowd Future jobs, and failed jobs, beside those to be claimed.
 * @property {number} keyedCrowd Jobs with keys beside those to be claimed.
 * @property {number} memoryJobs
 * @property {number} waiting
 * @property {{ id: string, name: string }[]} servers Those that answer.
 * @property {(ids: string[]) => string[]} select Those of the contestants that are wanted and whose server answers.
 * @property {(line: string) => void} say Tells how far it is.
 * @property {(attachment: { title: string, plans: { text: string, plan: string }[] }) => void} attach Adds plans to the report.
 *
 * @type {Kind[]}
 */
export const kinds = [drain, enqueue, latency, idle, claim, limits, stall, memory];
