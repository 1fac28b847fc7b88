import { IsString } from 'class-validator';
import { InvalidHandlerError, InvalidOptionError, InvalidPayloadError, JobQueue } from 'nestjs-jobs';
import { z } from 'zod';
import { RecordingSink } from '../../support/recording-sink.js';

class Mail {
  @IsString()
  to!: string;
}

describe('register', () => {
  it('takes a schema: refuses what does not fit, and hands on what it makes of the rest', async () => {
    const queue = new JobQueue({}, { sink: new RecordingSink() });
    const received: unknown[] = [];
    queue.register('count', ({ size }) => received.push(size), {
      schema: z.object({ size: z.string().transform(Number) }),
    });

    expect(() => queue.submit('count', { size: 7 })).toThrow(InvalidPayloadError);
    queue.submit('count', { size: '7' });
    await queue.join();

    expect(received).toEqual([7]);
  });

  it('takes a class with decorators as schema', async () => {
    const queue = new JobQueue({}, { sink: new RecordingSink() });
    const received: unknown[] = [];
    queue.register('mail', (mail) => received.push(mail), { schema: Mail });

    queue.submit('mail', { to: 'ada' });
    await queue.join();

    expect(received[0]).toBeInstanceOf(Mail);
  });

  it('takes a uniqueKey', async () => {
    const queue = new JobQueue({}, { sink: new RecordingSink(), autoStart: false });
    queue.register('sync', () => undefined, { uniqueKey: (payload) => String(payload) });

    expect(queue.trySubmit('sync', 'a').outcome).toBe('stored');
    expect(queue.trySubmit('sync', 'a').outcome).toBe('waiting');
    await queue.join();
  });

  it.each([
    [{ schema: 7 }, "register('work'): schema must be a Standard Schema"],
    [{ transactional: 'yes' }, "register('work'): transactional must be true or false, got 'yes'"],
    [{ enhancers: true }, "the options of register('work') have no option 'enhancers'"],
  ])('refuses the options %j', (options, message) => {
    const queue = new JobQueue({}, { sink: new RecordingSink() });

    const act = (): void => queue.register('work', () => undefined, options as object);

    expect(act).toThrow(InvalidOptionError);
    expect(act).toThrow(message);
  });

  it('a transactional handler takes no jobs in memory', () => {
    const queue = new JobQueue({}, { sink: new RecordingSink() });
    queue.register('work', () => undefined, { transactional: true });

    expect(() => queue.submit('work')).toThrow(InvalidHandlerError);
    expect(() => queue.submit('work')).toThrow(
      "register('work') is transactional, and jobs in memory are in no database",
    );
  });

  it('a job in memory has neither a manager nor a memory of its steps', async () => {
    const sink = new RecordingSink();
    const queue = new JobQueue({ maxRetries: 0 }, { sink });
    queue.submit((job) => job.manager);
    queue.submit((job) => job.once('a', () => 1));
    await queue.join();

    expect(sink.lines.join('\n')).toContain('job.manager is the EntityManager of transactional handlers only');
    expect(sink.lines.join('\n')).toContain('job.once needs the persistent queue');
  });
});
