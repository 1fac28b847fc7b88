import { ClaimDesk } from '../../../lib/runtime/claim-desk.js';

/** A desk whose time stands still until it is moved. */
function setUp(): { desk: ClaimDesk; log: string[]; move: (ms: number) => void; finish: () => void } {
  let now = 0;
  const log: string[] = [];
  let finish = (): void => undefined;
  const desk = new ClaimDesk({
    clock: { now: () => now, monotonic: () => now },
    intervalMs: 1_000,
    disown: () => {
      log.push('disown');
      return new Promise<void>((resolve) => (finish = resolve));
    },
  });
  return { desk, log, move: (ms) => (now += ms), finish: () => finish() };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('ClaimDesk', () => {
  it('lets claims pass side by side while nothing is wrong', async () => {
    const { desk, log } = setUp();

    await Promise.all([
      desk.pass(() => Promise.resolve(log.push('a'))),
      desk.pass(() => Promise.resolve(log.push('b'))),
    ]);

    expect(log).toEqual(['a', 'b']);
  });

  it('gives back unknown claims before the next claim after one that failed', async () => {
    const { desk, log, finish } = setUp();
    await expect(desk.pass(() => Promise.reject(new Error('answer lost')))).rejects.toThrow('answer lost');

    const next = [desk.pass(() => Promise.resolve(log.push('a'))), desk.pass(() => Promise.resolve(log.push('b')))];
    await turn();
    expect(log).toEqual(['disown']);
    finish();
    await Promise.all(next);

    expect(log).toEqual(['disown', 'a', 'b']);
  });

  it('gives back nothing while a claim is under way, and lets no further one begin', async () => {
    const { desk, log, finish } = setUp();
    let answer = (): void => undefined;
    const slow = desk.pass(() => new Promise<void>((resolve) => (answer = resolve)));
    await expect(desk.pass(() => Promise.reject(new Error('answer lost')))).rejects.toThrow('answer lost');

    const next = [desk.pass(() => Promise.resolve(log.push('a'))), desk.pass(() => Promise.resolve(log.push('b')))];
    await turn();
    expect(log).toEqual([]);
    answer();
    await slow;
    await turn();
    expect(log).toEqual(['disown']);
    finish();
    await Promise.all(next);

    expect(log).toEqual(['disown', 'a', 'b']);
  });

  it('looks now and then although nothing failed', async () => {
    const { desk, log, move, finish } = setUp();
    await desk.pass(() => Promise.resolve());
    move(1_000);

    const next = desk.pass(() => Promise.resolve(log.push('a')));
    await turn();
    finish();
    await next;
    await desk.pass(() => Promise.resolve(log.push('b')));

    expect(log).toEqual(['disown', 'a', 'b']);
  });
});
