import { spawnSync } from 'node:child_process';
import { forEachDatabase } from '../support/databases.js';
import { Rig, type RigApp, type StartOptions } from '../support/rig/rig.js';
import { until } from '../support/until.js';

/** A process space of its own, as a container has it; the second one still sees the /proc of the machine. */
const ownSpace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const ownSpaceForeignProc = ['unshare', '--pid', '--fork', '--kill-child'];

const persistent = { lease: 600_000 };
/** What cannot be judged on this machine is named as skipped. */
const inContainer = spawnSync('unshare', [...ownSpace.slice(1), 'true']).status === 0 ? it : it.skip;

// The judgement is the same on all databases; that they act on it, crash-recovery.spec.ts shows.
forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeEach(async () => {
      rig = await Rig.create(database);
    });

    afterEach(async () => {
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

    /** Kills an app for sure, and has another one judge all that there are. */
    async function judge(): Promise<void> {
      const dead = await holder('of the dead');
      await dead.end('SIGKILL');
      const types = ['of the dead', 'of the judged'];
      await rig.start({ persistent, types, machine: 'the same' });
      await until(async () => (await rig.effects()).filter(({ jobType }) => jobType === 'of the dead').length === 2);
    }

    it('a live process is not taken for dead', async () => {
      await holder('of the judged');

      await judge();

      expect(await rig.row("job_type = 'of the judged'")).toMatchObject({ status: 'running', interruptions: 0 });
      expect(await rig.count('start')).toBe(3);
    });

    it('a process that stands still is not taken for dead', async () => {
      (await holder('of the judged')).signal('SIGSTOP');

      await judge();

      expect(await rig.row("job_type = 'of the judged'")).toMatchObject({ status: 'running', interruptions: 0 });
    });

    inContainer('a live process in another process space is not judged', async () => {
      await holder('of the judged', ownSpace);

      await judge();

      expect(await rig.row("job_type = 'of the judged'")).toMatchObject({ status: 'running', interruptions: 0 });
    });

    inContainer('a dead process in another process space is left to its lease', async () => {
      const app = await holder('of the judged', ownSpace);
      await app.end('SIGKILL');

      await judge();

      expect(await rig.row("job_type = 'of the judged'")).toMatchObject({ status: 'running', interruptions: 0 });
    });

    inContainer('a process that sees the processes of another space makes no claim that could be judged', async () => {
      await holder('of the judged', ownSpaceForeignProc);

      expect((await rig.row()).claimed_by).toMatch(/^[^/]+\/-\/-\/\d+\/-\//);
    });
  },
  ['sqlite-file'],
);
