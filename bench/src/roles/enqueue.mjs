import { payloads } from '../contestant.mjs';

const warmUps = 50;

/**
 * Enqueues jobs that nobody runs, in one of three ways.
 *
 * `settings.inFlight` callers each wait for their own job before they enqueue the next; or, with `settings.bulk`, one caller hands over so many at a time.
 */
export async function enqueue({ contestant, settings: { jobs, inFlight = 1, bulk }, link }) {
  const session = await contestant.open(async () => {});
  await warmUp(session, bulk);
  link.tell('ready');
  await link.hear('go');
  const startedAt = process.hrtime.bigint();
  await (bulk === undefined ? oneByOne(session, jobs, inFlight) : inBulk(session, jobs, bulk));
  const ms = Number(process.hrtime.bigint() - startedAt) / 1e6;
  link.tell('done', { ms });
  await link.hear('stop');
  await session.close();
}

async function warmUp(session, bulk) {
  if (bulk === undefined) for (let n = 0; n < warmUps; n += 1) await session.enqueue({ n });
  else for (const chunk of payloads(bulk * 3, bulk)) await session.enqueueMany(chunk);
}

async function oneByOne(session, jobs, inFlight) {
  let next = 0;
  const caller = async () => {
    while (next < jobs) await session.enqueue({ n: next++ });
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
}

async function inBulk(session, jobs, bulk) {
  for (const chunk of payloads(jobs, bulk)) await session.enqueueMany(chunk);
}
