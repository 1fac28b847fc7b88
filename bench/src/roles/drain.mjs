/** How often a process says how many jobs it has run, milliseconds, where others run some of them too. */
const tellMs = 5;

/**
 * Runs jobs from `go` to `stop`. Tells how many it has run: at once when it has run all, else every few milliseconds; and at last the
 * processor time that it took.
 */
export async function drain({ contestant, settings: { jobs, isAlone }, link }) {
  let count = 0;
  let timer;
  const tell = () => {
    timer = undefined;
    link.tell('count', { count });
  };
  const session = await contestant.open(async () => {
    count += 1;
    if (count === jobs) tell();
    else if (!isAlone) timer ??= setTimeout(tell, tellMs);
  });
  link.tell('ready');
  await link.hear('go');
  const before = process.cpuUsage();
  await session.start();
  await link.hear('all done');
  const { user, system } = process.cpuUsage(before);
  link.tell('cost', { cpuMs: (user + system) / 1_000 });
  await link.hear('stop');
  clearTimeout(timer);
  await session.close();
}
