import { JobsRuntime, type JobsRuntimeParts, type StoredQueue } from '../../../lib/runtime/jobs-runtime.js';

/** A queue that only says what it is asked to do. */
class FakeQueue implements StoredQueue {
  constructor(
    private readonly name: string,
    private readonly log: string[],
  ) {}

  async open(): Promise<void> {
    this.log.push(`${this.name} open`);
  }

  async start(): Promise<void> {
    this.log.push(`${this.name} start`);
  }

  async stop(): Promise<void> {
    this.log.push(`${this.name} stop`);
  }

  async close(): Promise<void> {
    this.log.push(`${this.name} close`);
  }
}

function makeRuntime(log: string[], parts: Partial<JobsRuntimeParts> = {}): JobsRuntime {
  const runtime: JobsRuntime = new JobsRuntime({
    memory: new FakeQueue('memory', log),
    persistent: new FakeQueue('persistent', log),
    autoStart: true,
    discover: () => void log.push('discover'),
    siblings: () => [runtime],
    logError: (message) => void log.push(message),
    ...parts,
  });
  return runtime;
}

describe('the runtime', () => {
  it('finds handlers, opens the store, starts, stops and closes, in this order', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log);

    await runtime.onModuleInit();
    await runtime.onApplicationBootstrap();
    await runtime.onModuleDestroy();
    await runtime.onApplicationShutdown();

    expect(log).toEqual([
      'discover',
      'persistent open',
      'memory start',
      'persistent start',
      'memory stop',
      'persistent stop',
      'persistent close',
    ]);
  });

  it('starts nothing without autoStart', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log, { autoStart: false });

    await runtime.onModuleInit();
    await runtime.onApplicationBootstrap();

    expect(log).toEqual(['discover', 'persistent open']);
  });

  it('starts nothing when the app was closed while it started', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log);
    await runtime.onModuleInit();
    await runtime.onModuleDestroy();

    await runtime.onApplicationBootstrap();

    expect(log).not.toContain('memory start');
    expect(log).not.toContain('persistent start');
  });

  it('starts again after an earlier end', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log);
    await runtime.onModuleInit();
    await runtime.onModuleDestroy();

    await runtime.onModuleInit();
    await runtime.onApplicationBootstrap();

    expect(log.slice(-2)).toEqual(['memory start', 'persistent start']);
  });

  it('opens nothing when a handler is refused', async () => {
    const log: string[] = [];
    const refuse = (): never => {
      throw new Error('two handlers');
    };
    const runtime = makeRuntime(log, { discover: refuse });

    await expect(runtime.onModuleInit()).rejects.toThrow('two handlers');

    expect(log).toEqual([]);
  });

  it('does without either queue', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log, { memory: undefined, persistent: undefined });

    await runtime.onModuleInit();
    await runtime.onApplicationBootstrap();
    await runtime.onModuleDestroy();
    await runtime.onApplicationShutdown();

    expect(log).toEqual(['discover']);
  });

  it('drains once for calls that come together', async () => {
    const log: string[] = [];
    const runtime = makeRuntime(log);

    await Promise.all([runtime.onModuleDestroy(), runtime.onModuleDestroy()]);

    expect(log).toEqual(['memory stop', 'persistent stop']);
  });

  it('lets the rest of the app close when a queue does not', async () => {
    const log: string[] = [];
    class Broken extends FakeQueue {
      override stop = (): Promise<void> => Promise.reject(new Error('no answer'));
      override close = (): Promise<void> => Promise.reject(new Error('no answer'));
    }
    const runtime = makeRuntime(log, { persistent: new Broken('persistent', log) });

    await runtime.onModuleDestroy();
    await runtime.onApplicationShutdown();

    expect(log).toEqual([
      'memory stop',
      'could not stop the persistent queue: no answer',
      'could not close the persistent queue: no answer',
    ]);
  });
});
