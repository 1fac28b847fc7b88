import { Injectable } from '@nestjs/common';
import { InvalidPayloadError, JobHandler, PersistentJobQueue } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { startDatabaseApp } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps } from '../support/jobs-app.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const received: unknown[] = [];

@Injectable()
class Shop {
  @JobHandler('order', { maxRetries: 5, schema: z.object({ at: z.coerce.date(), count: z.number().default(1) }) })
  order(payload: { at: Date; count: number }): void {
    received.push(payload);
  }
}

forEachDatabase(
  (database) => {
    let dataSource: DataSource;
    let rig: QueueRig;
    let queue: PersistentJobQueue;

    beforeEach(async () => {
      received.splice(0);
      dataSource = await database.connect();
      rig = new QueueRig(dataSource);
      const app = await startDatabaseApp(dataSource, { providers: [Shop] });
      queue = app.get(PersistentJobQueue);
    });

    afterEach(async () => {
      await closeApps();
      await database.empty();
    });

    it('enqueue refuses what does not fit, with its path and without its value', async () => {
      const refused = queue.enqueue('order', { at: 'secret' });

      await expect(refused).rejects.toThrow(InvalidPayloadError);
      await expect(refused).rejects.toThrow("payload.at does not fit the schema of job type 'order'");
      expect(await rig.rows()).toEqual([]);
    });

    it('enqueueMany says which job does not fit, and stores none', async () => {
      const jobs = [{ type: 'unknown' }, { type: 'order', payload: {} }];

      await expect(queue.enqueueMany(jobs)).rejects.toThrow('jobs[1]: payload.at does not fit');
      expect(await rig.rows()).toEqual([]);
    });

    it('the payload is stored as it was given, and its handler receives what the schema makes of it', async () => {
      await queue.stop();
      await queue.enqueue('order', { at: '2026-01-01T00:00:00Z' });

      expect((await rig.row()).payload).toBe('{"at":"2026-01-01T00:00:00Z"}');
      await queue.tick();
      expect(received).toEqual([{ at: new Date('2026-01-01T00:00:00Z'), count: 1 }]);
    });

    it('a row that does not fit fails at once, its handler is not called, and no value is told', async () => {
      await queue.stop();
      await queue.enqueue('order', { at: 0 });
      await rig.set(`payload = '{"at":"secret"}'`);

      await queue.tick();

      await until(async () => (await rig.row()).status === 'failed');
      expect(await rig.row()).toMatchObject({
        attempts: 1,
        max_retries: 5,
        last_error: "payload.at does not fit the schema of job type 'order'",
      });
      expect(received).toEqual([]);
    });
  },
  ['sqlite-file', 'postgres'],
);
