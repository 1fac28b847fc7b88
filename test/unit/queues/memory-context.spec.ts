import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidOptionError, InvalidPayloadError, JobQueue, type ContextCarrier } from 'nestjs-jobs';

const storage = new AsyncLocalStorage<{ id: string }>();
const tenant: ContextCarrier = {
  name: 'tenant',
  extract: () => storage.getStore(),
  run: (value, next) => storage.run(value as { id: string }, next),
};

describe('the context of a memory job', () => {
  it('is that of its submission, copied, in every attempt', async () => {
    const found: unknown[] = [];
    const queue = new JobQueue({ context: [tenant], maxRetries: 1, backoff: { initial: 0 } });
    const store = { id: 'a' };

    storage.run(store, () =>
      queue.submit(() => {
        found.push(storage.getStore());
        throw new Error('again');
      }),
    );
    store.id = 'changed';
    await queue.join();

    expect(found).toEqual([{ id: 'a' }, { id: 'a' }]);
  });

  it('is none where there was none, whoever joins the queue', async () => {
    const found: unknown[] = [];
    const queue = new JobQueue({ context: [tenant] });

    queue.submit(() => found.push(storage.getStore()));
    await storage.run({ id: 'of join' }, () => queue.join());

    expect(found).toEqual([undefined]);
  });

  it('is refused where JSON cannot carry it', async () => {
    const queue = new JobQueue({ context: [{ ...tenant, extract: () => ({ at: new Date(0) }) }] });

    expect(() => queue.submit(() => undefined)).toThrow(InvalidPayloadError);
    expect(() => queue.submit(() => undefined)).toThrow(/^context\.tenant\.at is a Date/);
    await queue.join();
  });

  it.each<[string, unknown, string]>([
    ['no array', {}, 'memory.context must be an array, got an object'],
    ['an entry without a name', [{ ...tenant, name: '' }], 'memory.context[0].name must be'],
    ['an entry without extract', [{ ...tenant, extract: 1 }], 'memory.context[0].extract must be a function, got 1'],
    ['an entry without run', [{ ...tenant, run: undefined }], 'memory.context[0].run must be a function'],
    ['an entry with a typo', [{ ...tenant, restore: 1 }], "memory.context[0] has no option 'restore'"],
    ['two entries of one name', [tenant, tenant], "memory.context has two entries named 'tenant'"],
  ])('must not have %s', (_what, context, message) => {
    const make = (): unknown => new JobQueue({ context: context as ContextCarrier[] });

    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });

  it('may be carried by an instance of a class', async () => {
    const found: unknown[] = [];
    class Carrier implements ContextCarrier {
      readonly name = 'class';
      private readonly value = 7;

      extract(): unknown {
        return this.value;
      }

      run(value: unknown, next: () => Promise<unknown>): unknown {
        found.push(value);
        return next();
      }
    }
    const queue = new JobQueue({ context: [new Carrier()] });

    queue.submit(() => undefined);
    await queue.join();

    expect(found).toEqual([7]);
  });
});
