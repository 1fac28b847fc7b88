import { Turnstile } from '../../../../lib/stores/typeorm/turnstile.js';

/** Work that tells when it begins and ends when it is told to. */
function someWork(begun: number[], number: number): { readonly run: () => Promise<number>; finish: () => void } {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const run = async (): Promise<number> => {
    begun.push(number);
    await finished;
    return number;
  };
  return { run, finish: () => finish() };
}

const aMoment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Turnstile', () => {
  it('lets so many through at once, and the others in their order', async () => {
    const turnstile = new Turnstile(2);
    const begun: number[] = [];
    const all = [1, 2, 3, 4].map((number) => someWork(begun, number));
    const results = Promise.all(all.map(({ run }) => turnstile.pass(run)));
    await aMoment();
    expect(begun).toEqual([1, 2]);

    all[1]?.finish();
    await aMoment();
    expect(begun).toEqual([1, 2, 3]);

    for (const { finish } of all) finish();
    expect(await results).toEqual([1, 2, 3, 4]);
  });

  it('goes on after work that failed, and lets one through however narrow it is', async () => {
    const turnstile = new Turnstile(0);
    const failed = turnstile.pass(() => Promise.reject(new Error('no')));
    const next = turnstile.pass(() => Promise.resolve('next'));

    await expect(failed).rejects.toThrow('no');
    await expect(next).resolves.toBe('next');
    await expect(turnstile.pass(() => Promise.resolve('later'))).resolves.toBe('later');
  });
});
