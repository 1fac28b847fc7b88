import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';

describe('JobQueue with a concurrency', () => {
  it('runs no more jobs of the type at a time, holds up no other one, and runs all', async () => {
    const queue = new JobQueue({ workers: 5 }, { sink: new RecordingSink(), autoStart: false });
    let running = 0;
    let most = 0;
    const done: string[] = [];
    const narrow = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running -= 1;
      done.push('narrow');
    };
    queue.register('narrow', narrow, { concurrency: 2 });
    queue.register('wide', () => done.push('wide'));
    for (let index = 0; index < 40; index += 1) queue.submit('narrow', index, { priority: index % 2 });
    const cancelled = queue.submit('narrow', 'cancelled');
    for (let index = 0; index < 10; index += 1) queue.submit('wide', index);
    queue.start();
    await new Promise((resolve) => setTimeout(resolve, 10));

    expect(queue.cancel(cancelled)).toEqual({ result: 'done', from: 'pending' });
    await queue.join();

    expect(most).toBe(2);
    expect(done.filter((type) => type === 'narrow')).toHaveLength(40);
    expect(done.lastIndexOf('wide')).toBeLessThan(20);
  });
});
