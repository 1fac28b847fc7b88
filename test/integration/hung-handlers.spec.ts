import { Injectable } from '@nestjs/common';
import { JobHandler, PersistentJobQueue } from 'nestjs-jobs';
import { systemClock } from '../../lib/model/clock.js';
import { startDatabaseApp } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, RecordingLogger } from '../support/jobs-app.js';
import { quickOptions, QueueRig } from '../support/queue-rig.js';
import { RecordingSink } from '../support/recording-sink.js';
import { until } from '../support/until.js';

@Injectable()
class Hands {
  started = 0;
  done = 0;

  @JobHandler('hung', { timeout: 200, maxRetries: 0 })
  @JobHandler('hung for ever')
  hang(): Promise<void> {
    this.started += 1;
    return new Promise(() => undefined);
  }

  @JobHandler('quick')
  quick(): void {
    this.done += 1;
  }
}

forEachDatabase(
  (database) => {
    let ownQueue: PersistentJobQueue | undefined;

    afterEach(async () => {
      await ownQueue?.close();
      await closeApps();
      await database.empty();
    });

    it('a handler that never settles gives its slot back when its timeout is over, and has failed', async () => {
      const dataSource = await database.connect();
      const logger = new RecordingLogger();
      const app = await startDatabaseApp(dataSource, { providers: [Hands] }, { persistent: { workers: 2 }, logger });
      const types = ['hung', 'hung', 'quick', 'quick', 'quick', 'quick', 'quick'];
      const ids = await app.get(PersistentJobQueue).enqueueMany(types.map((type) => ({ type })));

      await until(() => app.get(Hands).done === 5);

      const rig = new QueueRig(dataSource);
      // The quick ones are gone once the store has heard of them.
      await until(async () => (await rig.rows()).every((row) => row.status === 'failed'));
      expect((await rig.rows()).map((row) => row.last_error)).toEqual([
        'timed out after 200 ms',
        'timed out after 200 ms',
      ]);
      expect(logger.ofJobs().filter((line) => line.startsWith('error'))).toEqual(
        expect.arrayContaining([
          `error: persistent job 'hung' (${ids[0]}) failed permanently after 1 attempt(s): timed out after 200 ms`,
        ]),
      );
    });

    it('an app closes although a handler never settles, and names its job', async () => {
      const logger = new RecordingLogger();
      const options = { persistent: { shutdownTimeout: 100 }, logger };
      const app = await startDatabaseApp(await database.connect(), { providers: [Hands] }, options);
      const id = await app.get(PersistentJobQueue).enqueue('hung for ever');
      await until(() => app.get(Hands).started === 1);

      await app.close();

      expect(logger.ofJobs()).toContain(
        `warn: persistent job 'hung for ever' (${id}) did not end when the queue stopped; it will run again when its lease has ended`,
      );
    });

    it('a job that has been running for long is named once', async () => {
      let elapsed = 0;
      const clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + elapsed };
      const sink = new RecordingSink();
      const options = { ...quickOptions, lease: 400, shutdownTimeout: 0 };
      const queue = await PersistentJobQueue.create(await database.connect(), options, { sink, clock });
      ownQueue = queue;
      let starts = 0;
      queue.register('long', () => {
        starts += 1;
        return new Promise(() => undefined);
      });
      const id = await queue.enqueue('long');
      await queue.start();
      await until(() => starts === 1);

      // The heartbeat may take the leap for a lost lease before the upkeep has looked; then the job runs again, and so does the leap.
      let leaps = 0;
      const leap = (): void => {
        if (leaps === starts) return;
        leaps = starts;
        elapsed += 300_001;
      };
      const line = `warn: persistent job 'long' (${id}) has been running for 5m; give its handler a timeout if it may hang`;
      await until(() => {
        leap();
        return sink.lines.includes(line);
      });
      await queue.stop();
      expect(sink.lines.filter((one) => one === line)).toHaveLength(1);
    });
  },
  ['sqlite-memory', 'postgres'],
);
