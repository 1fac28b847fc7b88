import { spawnSync } from 'node:child_process';
import { forEachDatabase, isRequired } from '../support/databases.js';
import { Rig, type RigApp, type StartOptions } from '../support/rig/rig.js';
import { until } from '../support/until.js';

/** A process space of its own, as a container has it; in the second one /proc is still that of the machine. */
const ownSpace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const foreignProc = ['unshare', '--pid', '--fork', '--kill-child'];

const persistent = { lease: 600_000 };
/** Not everywhere may a test make a process space; where everything must be there, as in CI, that is a failure and not left out in silence. */
const canContain = spawnSync('unshare', [...ownSpace.slice(1), 'true']).status === 0;
const inContainer = canContain || isRequired() ? it : it.skip;

// The judgement is the same on all databases; that they act on it is seen in crash-recovery.spec.ts.
forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeAll(async () => {
      rig = await Rig.create(database);
      const containers = canContain ? [holder('contained', ownSpace), holder('contained and dead', ownSpace)] : [];
      const [dead, frozen, , , deadInContainer] = await Promise.all([
        holder('dead'),
        holder('frozen'),
        holder('live'),
        ...containers,
      ]);
      frozen?.signal('SIGSTOP');
      await Promise.all([dead?.end('SIGKILL'), deadInContainer?.end('SIGKILL')]);
      const types = ['dead', 'frozen', 'live', 'contained', 'contained and dead'];
      await rig.start({ persistent, types, machine: 'the same' });
      // The one whose death is proven is the sign that all of them have been judged.
      await until(async () => (await rig.row("job_type = 'dead'")).interruptions === 1);
    }, 120_000);

    afterAll(async () => {
      await rig.close();
      await database.clear();
    });

    /** An app with a job that is under way; all of them believe to be on one machine. */
    async function holder(type: string, under: StartOptions['under'] = []): Promise<RigApp> {
      const id = await rig.enqueue([{ do: 'wait', gate: 'end' }], { type });
      const app = await rig.start({ persistent, types: [type], machine: 'the same', under });
      await until(async () => (await rig.count('start', id)) === 1);
      return app;
    }

    async function expectUntouched(type: string): Promise<void> {
      expect(await rig.row(`job_type = '${type}'`)).toMatchObject({ status: 'running', interruptions: 0 });
    }

    inContainer('this machine can make a process space (unshare)', () => expect(canContain).toBe(true));

    it('a live process is not taken for dead', () => expectUntouched('live'));

    it('a process that stands still is not taken for dead', () => expectUntouched('frozen'));

    inContainer('a live process of another process space is not judged', () => expectUntouched('contained'));

    inContainer('a dead process of another process space is left to its lease', () =>
      expectUntouched('contained and dead'),
    );

    inContainer('a process that sees the numbers of another space gives itself no name to be judged by', async () => {
      await holder('confused', foreignProc);

      expect((await rig.row("job_type = 'confused'")).claimed_by).toMatch(/^[^/]+\/-\/-\/\d+\/-\//);
    });
  },
  ['sqlite-file'],
);
