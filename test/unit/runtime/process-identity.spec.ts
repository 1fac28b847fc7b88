import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { ProcessIdentity, type Kernel } from '../../../lib/runtime/process-identity.js';
import { projectRoot } from '../../support/markdown.js';

/** A machine of which a test can change what the kernel says. */
function machine(): { boot: string; space: string; start: string | undefined; kernel: Kernel } {
  const state = { boot: 'boot-1', space: '100', start: '5' as string | undefined };
  const kernel: Kernel = {
    boot: () => Promise.resolve(state.boot),
    pidSpace: () => Promise.resolve(state.space),
    startOf: () => Promise.resolve(state.start),
  };
  return Object.assign(state, { kernel });
}

const made: ProcessIdentity[] = [];

async function identity(kernel?: Kernel): Promise<ProcessIdentity> {
  const one = await ProcessIdentity.create(kernel);
  made.push(one);
  return one;
}

function canMount(): boolean {
  return spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -t proc -o hidepid=2 proc /proc']).status === 0;
}

afterEach(async () => {
  await Promise.all(made.splice(0).map((one) => one.forget()));
});

describe('ProcessIdentity', () => {
  it('has another name each time, short enough for its column', async () => {
    const { kernel } = machine();
    const [one, two] = [await identity(kernel), await identity(kernel)];

    expect(one.name).not.toBe(two.name);
    expect(one.name.length).toBeLessThanOrEqual(200);
  });

  it('knows a live owner to be alive', async () => {
    const { kernel } = machine();
    const [one, two] = [await identity(kernel), await identity(kernel)];

    expect(await one.isDead(two.name)).toBe(false);
  });

  it.each([
    ['its number is free', undefined],
    ['its number belongs to a later process', '6'],
  ])('proves an owner dead when %s', async (_why, start) => {
    const state = machine();
    const [owner, judge] = [await identity(state.kernel), await identity(state.kernel)];

    state.start = start;

    expect(await judge.isDead(owner.name)).toBe(true);
  });

  it.each([
    ['another boot', { boot: 'boot-2' }],
    ['another process space, as in a container', { space: '200' }],
  ])('judges no owner of %s', async (_what, change) => {
    const state = machine();
    const owner = await identity(state.kernel);
    Object.assign(state, change);
    const judge = await identity(state.kernel);

    state.start = undefined;

    expect(await judge.isDead(owner.name)).toBe(false);
  });

  it('judges no owner that left no mark on this file system', async () => {
    const state = machine();
    const [owner, judge] = [await identity(state.kernel), await identity(state.kernel)];
    await owner.forget();

    state.start = undefined;

    expect(await judge.isDead(owner.name)).toBe(false);
  });

  it.each([[''], ['host'], ['host:1:uuid'], ['h/-/-/1/-/x'], ['h/boot-1/100/x/5/r'], ['../../etc/passwd']])(
    'judges no owner called %p',
    async (name) => {
      const state = machine();
      const judge = await identity(state.kernel);

      state.start = undefined;

      expect(await judge.isDead(name)).toBe(false);
    },
  );

  it('takes away the marks of long ago', async () => {
    const [old, other] = [await identity(machine().kernel), await identity(machine().kernel)];
    const markOf = ({ name }: ProcessIdentity): string => join(tmpdir(), 'nestjs-jobs', name.split('/').at(-1) ?? '');
    await utimes(markOf(old), 1, 1);

    await identity(machine().kernel);

    await expect(stat(markOf(old))).rejects.toThrow('ENOENT');
    await expect(stat(markOf(other))).resolves.toBeDefined();
  });

  it('judges nobody where the kernel says nothing', async () => {
    const mute: Kernel = { ...machine().kernel, boot: () => Promise.reject(new Error('no /proc')) };
    const one = await identity(mute);

    expect(await one.isDead(one.name)).toBe(false);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip; // other systems have no /proc to read

  const asRoot = process.getuid?.() === 0 && canMount() ? it : it.skip; // nobody else may mount a /proc

  asRoot('takes a process that a hardened /proc hides from it for alive', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nestjs-jobs-'));
    const { name } = await identity();
    const source = await readFile(join(projectRoot, 'lib/runtime/process-identity.ts'), 'utf8');
    await writeFile(
      join(folder, 'process-identity.mjs'),
      transformSync(source, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }).code,
    );
    const judge = `import { ProcessIdentity } from './process-identity.mjs';
      process.stdout.write(String(await (await ProcessIdentity.create()).isDead('${name}')));`;
    await writeFile(join(folder, 'judge.mjs'), judge);
    await chmod(folder, 0o755);

    const command = `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" judge.mjs`;
    const { stdout } = spawnSync('unshare', ['--mount', 'sh', '-c', command, process.execPath], { cwd: folder });

    expect(String(stdout)).toBe('false');
    await rm(folder, { recursive: true });
  });

  onLinux('sees a real process live and die', async () => {
    const judge = await identity();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => 1, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const text = await readFile(`/proc/${child.pid}/stat`, 'utf8');
    const start = text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
    const [host, boot, space] = judge.name.split('/');
    // The mark of the judge stands for the one that the child would have left.
    const name = [host, boot, space, child.pid, start, judge.name.split('/').at(-1)].join('/');

    expect(await judge.isDead(name)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await judge.isDead(name)).toBe(true);
  });
});
