/** Works on an empty queue; tells the processor time and, where it can, the statements that this has cost, each time it is asked. */
export async function idle({ contestant, link }) {
  const statements = contestant.countStatements?.();
  const session = await contestant.open(async () => {});
  await session.start();
  link.tell('ready');
  for (const moment of ['begin', 'end']) {
    await link.hear(moment);
    const { user, system } = process.cpuUsage();
    link.tell(`cost at ${moment}`, { cpuMs: (user + system) / 1_000, statements: statements?.() });
  }
  await link.hear('stop');
  await session.close();
}
