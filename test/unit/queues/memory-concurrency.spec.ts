import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { until } from '../../support/until.js';

describe('JobQueue with a concurrency', () => {
  it('runs no more jobs of the type at a time, holds up no other one, and runs all', async () => {
    const queue = new JobQueue({ workers: 5 }, { sink: new RecordingSink(), autoStart: false });
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let running = 0;
    let most = 0;
    let narrow = 0;
    let wide = 0;
    queue.register(
      'narrow',
      async () => {
        most = Math.max(most, ++running);
        await gate;
        running -= 1;
        narrow += 1;
      },
      { concurrency: 2 },
    );
    queue.register('wide', () => (wide += 1));
    for (let index = 0; index < 40; index += 1) queue.submit('narrow', index, { priority: index % 2 });
    const cancelled = queue.submit('narrow', 'cancelled');
    for (let index = 0; index < 10; index += 1) queue.submit('wide', index);

    queue.start();
    await until(() => wide === 10 && running === 2);
    expect(queue.cancel(cancelled)).toEqual({ result: 'done', from: 'pending' });
    open();
    await queue.join();

    expect({ most, narrow }).toEqual({ most: 2, narrow: 40 });
  });
});
