import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { ProcessIdentity, type Kernel } from '../../../lib/runtime/process-identity.js';

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

  it('judges nobody where the kernel says nothing', async () => {
    const mute: Kernel = { ...machine().kernel, boot: () => Promise.reject(new Error('no /proc')) };
    const one = await identity(mute);

    expect(await one.isDead(one.name)).toBe(false);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip; // other systems have no /proc to read

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
