import { setTimeout as pause } from 'node:timers/promises';

/** Between two jobs the system comes to rest; not in step with anybody's poll. */
const shortestPauseMs = 15;
const longestPauseMs = 45;
const warmUps = 20;

/**
 * Enqueues jobs one after the other on an idle system, runs them, or both, and measures from the call of enqueue to the start of the
 * handler. Two processes can compare their monotonic clocks: on Linux it is one clock for the whole machine.
 */
export async function latency({ contestant, settings: { jobs, produces, consumes }, link }) {
  const latencies = [];
  const session = await contestant.open(async ({ n, sentAt }) => {
    const startedAt = process.hrtime.bigint();
    if (n >= 0) latencies.push(Number(startedAt - BigInt(sentAt)) / 1e6);
    if (latencies.length === jobs) link.tell('done', { latencies });
  });
  if (consumes) await session.start();
  link.tell('ready');
  await link.hear('go');
  if (produces) await produce(session, jobs);
  await link.hear('stop');
  await session.close();
}

async function produce(session, jobs) {
  for (let n = -warmUps; n < jobs; n += 1) {
    await pause(shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs));
    await session.enqueue({ n, sentAt: String(process.hrtime.bigint()) });
  }
}
