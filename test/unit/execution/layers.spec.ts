import { runLayers, type Layer } from '../../../lib/execution/layers.js';
import { MiddlewareError } from '../../../lib/model/errors.js';

const boom = new Error('boom');
const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What happened, in order. */
let log: string[] = [];

beforeEach(() => {
  log = [];
});

/** A layer that says when it is entered and left. */
function named(name: string): Layer<string> {
  return async (next) => {
    log.push(`> ${name}`);
    await next();
    log.push(`< ${name}`);
  };
}

async function inside(): Promise<string> {
  log.push('inside');
  await later();
  return 'result';
}

async function failing(): Promise<string> {
  await later();
  log.push('failed');
  throw boom;
}

describe('runLayers', () => {
  it('enters the first layer first, leaves it last, and comes to what is inside', async () => {
    expect(await runLayers([named('a'), named('b')], inside)).toBe('result');

    expect(log).toEqual(['> a', '> b', 'inside', '< b', '< a']);
  });

  it('comes to what is inside where there is no layer', async () => {
    expect(await runLayers([], inside)).toBe('result');
  });

  it('hands the result to each layer, whatever a layer makes of it', async () => {
    const seen: unknown[] = [];
    const curious: Layer<string> = async (next) => {
      seen.push(await next());
      return 'another';
    };

    expect(await runLayers([curious, curious], inside)).toBe('result');
    expect(seen).toEqual(['result', 'result']);
  });

  it('throws what is thrown inside', async () => {
    await expect(runLayers([named('a')], failing)).rejects.toBe(boom);
  });

  it('throws what a layer throws, before or after what is inside', async () => {
    const before: Layer<string> = () => {
      throw boom;
    };
    const after: Layer<string> = async (next) => {
      await next();
      throw boom;
    };

    await expect(runLayers([before], inside)).rejects.toBe(boom);
    expect(log).toEqual([]);
    await expect(runLayers([after], inside)).rejects.toBe(boom);
    expect(log).toEqual(['inside']);
  });

  it('comes to nothing where a layer caught the error', async () => {
    const catching: Layer<string> = async (next) => {
      await next().catch(() => undefined);
    };

    expect(await runLayers([named('a'), catching], failing)).toBeUndefined();
    expect(log).toEqual(['> a', 'failed', '< a']);
  });

  it('waits for what is inside though a layer does not, and throws its error', async () => {
    const careless: Layer<string> = (next) => {
      void next();
    };

    expect(await runLayers([careless], inside)).toBe('result');
    await expect(runLayers([careless], failing)).rejects.toBe(boom);
  });

  it('takes an error that a layer overlooked while it was busy for no caught one', async () => {
    const busy: Layer<string> = async (next) => {
      void next();
      for (let turn = 0; turn < 5; turn += 1) await later();
    };

    await expect(runLayers([busy], failing)).rejects.toBe(boom);
  });

  it('is not over before what is inside is, when a layer throws meanwhile', async () => {
    const impatient: Layer<string> = (next) => {
      void next();
      throw new Error('impatient');
    };

    await expect(runLayers([impatient], failing)).rejects.toThrow('impatient');
    expect(log).toEqual(['failed']);
  });

  it('refuses a layer that never calls next', async () => {
    await expect(runLayers([async () => undefined], inside)).rejects.toThrow(MiddlewareError);
    expect(log).toEqual([]);
  });

  it.each<[string, Layer<string>]>([
    ['and hands on the refusal', (next) => Promise.all([next(), next()])],
    ['and does not look at it', (next) => void [next(), next()]],
    ['and swallows it', (next) => Promise.allSettled([next(), next()])],
  ])('refuses a layer that calls next twice %s; what is inside runs once', async (_how, layer) => {
    await expect(runLayers([layer], inside)).rejects.toThrow(/twice/);
    expect(log).toEqual(['inside']);
  });

  it('is not over before what is inside is, when it refuses a layer', async () => {
    const twice: Layer<string> = (next) => void [next(), next()];

    await expect(runLayers([twice], failing)).rejects.toThrow(/twice/);
    expect(log).toEqual(['failed']);
  });

  it('refuses to begin again what is over', async () => {
    let again: (() => Promise<string>) | undefined;
    const keeping: Layer<string> = (next) => {
      again = next;
      return next();
    };
    await runLayers([keeping], inside);

    await expect(again?.()).rejects.toThrow(MiddlewareError);
    expect(log).toEqual(['inside']);
  });
});
