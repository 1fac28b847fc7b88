/** Works on an empty queue, and tells the processor time that it has used each time it is asked. */
export async function idle({ contestant, link }) {
  const session = await contestant.open(async () => {});
  await session.start();
  link.tell('ready');
  for (const moment of ['begin', 'end']) {
    await link.hear(moment);
    const { user, system } = process.cpuUsage();
    link.tell(`${moment} of cpu`, { cpuMs: (user + system) / 1_000 });
  }
  await link.hear('stop');
  await session.close();
}
