import {
  InvalidHandlerError,
  InvalidJobTypeError,
  InvalidOptionError,
  JobQueue,
  PersistentJobQueue,
} from 'nestjs-jobs';
import { checkJobType } from '../../../lib/model/job-type.js';
import { makeEach } from '../../../lib/queues/job-request.js';

const made = (request: unknown): unknown[] => makeEach([request], () => 'made');

describe('what is called in a wrong way', () => {
  it('a persistent queue made by new says where to get one', () => {
    const byHand = PersistentJobQueue as unknown as new (...given: unknown[]) => unknown;

    for (const given of [[], [{}], [{}, {}]]) {
      expect(() => new byHand(...given)).toThrow(InvalidOptionError);
      expect(() => new byHand(...given)).toThrow('PersistentJobQueue.create(dataSource, options)');
    }
  });

  it('a job of many without a type is shown the form of one', () => {
    expect(() => made({ name: 'send', data: 'secret' })).toThrow(
      'jobs[0]: a job is { type, payload, …options }, got an object with name, data',
    );
    expect(() => made({})).toThrow('got an object with nothing');
    expect(made({ type: 'send' })).toEqual(['made']);
  });

  it('a job type that is none is shown one', () => {
    expect(() => checkJobType({ type: 'send' })).toThrow(InvalidJobTypeError);
    expect(() => checkJobType({ type: 'send' })).toThrow("like 'send_welcome_email', got an object");
  });

  it('a promise in the place of a function is told from one', async () => {
    const queue = new JobQueue();
    const submit = queue.submit.bind(queue) as (work: unknown) => void;

    expect(() => submit(Promise.resolve(1))).toThrow(InvalidHandlerError);
    expect(() => submit(Promise.resolve(1))).toThrow('got a promise, whose work is under way');
    await queue.join();
  });
});
