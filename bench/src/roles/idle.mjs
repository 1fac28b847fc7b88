import { setTimeout } from 'node:timers/promises';

const settlingMs = 3_000;

/** Works on an empty queue; tells the processor time and, where it can, the statements that this has cost, each time it is asked. */
export async function idle({ contestant, link }) {
  const statements = contestant.countStatements?.();
  const session = await contestant.open(async () => {});
  await session.start();
  // What a start costs, above all connections, is over by then.
  await setTimeout(settlingMs);
  link.tell('ready');
  for (const moment of ['begin', 'end']) {
    await link.hear(moment);
    const { user, system } = process.cpuUsage();
    link.tell(`cost at ${moment}`, { cpuMs: (user + system) / 1_000, statements: statements?.() });
  }
  await link.hear('stop');
  await session.close();
}
