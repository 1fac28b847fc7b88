import { ChildProcess } from '../child-process.mjs';
import { addFinished } from '../claims/crowd.mjs';
import { contestant } from '../contestants/index.mjs';
import { inTurns } from '../in-turns.mjs';

const id = 'ours-sqlite';
const finished = 300_000;

/** What the processes on one file do; the first one's event loop is looked at. */
const scenes = [
  { name: 'two processes drain a backlog', seeded: 20_000, parts: ['work', 'work'] },
  { name: 'one enqueues 1000 a call, 20 calls, another one drains', seeded: 0, parts: ['enqueue', 'work'] },
  { name: `one deletes 5000 of ${finished} failed jobs, another one drains`, seeded: 20_000, parts: ['prune', 'work'] },
  { name: 'nothing: what this machine does by itself', seeded: 0, parts: ['rest'] },
];

/** @type {import('./index.mjs').Kind} */
export const stall = {
  name: 'stall',
  description: 'how long the event loop of a process stands still on SQLite, whose statements are synchronous',
  async run({ rounds, select, say }) {
    const subjects = await Promise.all(select([id]).map((name) => contestant(name)));
    return inTurns(
      subjects.flatMap((subject) => scenes.map((scene) => turnOf(subject, scene))),
      rounds,
      say,
    );
  },
};

function turnOf(subject, scene) {
  const common = { kind: 'stall', group: scene.name, id, unit: 'ms', better: /** @type {const} */ ('less') };
  return {
    label: scene.name,
    async measure() {
      const { p99, longest, block } = await measure(subject, scene);
      return [
        { ...common, id: `${id}-p99`, name: 'event loop, p99', setting: '', value: p99 },
        { ...common, id: `${id}-longest`, name: 'event loop, longest', setting: '', value: longest },
        { ...common, id: `${id}-block`, name: 'longest block on SQLite', setting: '', value: block },
      ];
    },
  };
}

async function measure(subject, { seeded, parts }) {
  await subject.setUp();
  if (parts.includes('prune')) await addFinished(subject, finished);
  await subject.seed(seeded);
  const children = parts.map((part) => new ChildProcess('stall', id, { part }));
  try {
    await Promise.all(children.map((child) => child.hear('ready')));
    const done = children[0].hear('done');
    for (const child of children) child.tell('go');
    const result = await done;
    for (const child of children) await child.stop();
    return result;
  } finally {
    for (const child of children) child.kill();
    await subject.tearDown();
  }
}
