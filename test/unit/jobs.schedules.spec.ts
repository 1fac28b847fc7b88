import { Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { getJobQueueToken, JobHandler, JobQueue, JobSchedule, JobsModule, PersistentJobQueue } from 'nestjs-jobs';
import { startDatabaseApp } from '../support/database-app.js';
import { closeApps, RecordingLogger, startMemoryApp } from '../support/jobs-app.js';
import { until } from '../support/until.js';

const yearly = '0 0 1 1 *';

function sqlite(): Promise<DataSource> {
  return new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize();
}

describe('@JobSchedule', () => {
  afterEach(closeApps);

  it('runs the method with what the payload function makes of each slot, on the memory queue where there is no other', async () => {
    const ran: unknown[] = [];
    @Injectable()
    class Reports {
      @JobHandler('report')
      @JobSchedule('* * * * * *', { payload: (slot) => slot.toISOString() })
      write(slot: string): void {
        ran.push(slot);
      }
    }
    const app = await startMemoryApp({ providers: [Reports] });

    await until(() => ran.length >= 2);

    const [first, second] = ran.map((slot) => Date.parse(String(slot)));
    expect((second ?? 0) - (first ?? 0)).toBe(1_000);
    expect(await app.get(JobQueue).schedules.list()).toMatchObject([
      { name: 'report', type: 'report', source: 'code' },
    ]);
  });

  it('belongs to the persistent queue unless it says otherwise, and is shown in the SchedulerRegistry', async () => {
    @Injectable()
    class Reports {
      @JobHandler('report')
      @JobHandler('summary')
      @JobSchedule(yearly, { name: 'early', type: 'report', timeZone: 'Asia/Tokyo' })
      @JobSchedule('0 7 * * *', { name: 'late', type: 'summary' })
      @JobSchedule(yearly, { name: 'here', type: 'summary', on: 'memory' })
      @JobSchedule(yearly, { name: 'never', type: 'summary', disabled: true })
      write(): void {}
    }
    const logger = new RecordingLogger();
    const imports = [ScheduleModule.forRoot()];
    const app = await startDatabaseApp(await sqlite(), { imports, providers: [Reports] }, { logger });
    const persistent = app.get(PersistentJobQueue);
    const registry = app.get(SchedulerRegistry);
    const names = (): readonly string[] => [...registry.getCronJobs().keys()].toSorted();

    await until(() => names().length === 3);
    await persistent.schedules.set('mine', { type: 'report', cron: yearly });
    await until(() => names().length === 4);

    expect(names()).toEqual(['early', 'here', 'late', 'mine']);
    expect(registry.getCronJob('late').nextDate().toJSDate()).toEqual(
      (await persistent.schedules.nextRuns('late', 1))[0],
    );
    expect(registry.getCronJob('early').isActive).toBe(false);
    expect((await app.get(JobQueue).schedules.list()).map(({ name }) => name)).toEqual(['here']);
    expect(logger.ofJobs()).toContain(
      "log: 3 schedules: 'here' (0 0 1 1 *, UTC), 'late' (0 7 * * *, UTC), 'early' (0 0 1 1 *, Asia/Tokyo)",
    );
    await persistent.schedules.remove('mine');
    await until(() => names().length === 3);
  });

  it('belongs to one JobsModule only', async () => {
    @Injectable()
    class Reports {
      @JobHandler('report')
      @JobSchedule(yearly)
      write(): void {}

      @JobHandler('other', { instance: 'side' })
      @JobSchedule(yearly)
      other(): void {}
    }
    const side = JobsModule.forRoot({ name: 'side', persistent: false });
    const app = await startMemoryApp({ imports: [side], providers: [Reports] });
    const namesOf = async (queue: JobQueue): Promise<readonly string[]> =>
      (await queue.schedules.list()).map(({ name }) => name);

    await until(async () => (await namesOf(app.get(JobQueue))).length > 0);

    expect(await namesOf(app.get(JobQueue))).toEqual(['report']);
    expect(await namesOf(app.get<JobQueue>(getJobQueueToken('side')))).toEqual(['other']);
  });

  it('is found in modules that are loaded later', async () => {
    @Injectable()
    class Reports {
      @JobHandler('report')
      @JobSchedule(yearly)
      write(): void {}
    }
    @Module({ providers: [Reports] })
    class LateModule {}
    const app = await startMemoryApp({});
    const queue = app.get(JobQueue);

    await app.get(LazyModuleLoader).load(() => LateModule);
    queue.submit(() => undefined);
    await until(() => {
      try {
        queue.submit('report');
        return true;
      } catch {
        return false;
      }
    });

    await until(async () => (await queue.schedules.list()).length === 1);
  });

  it('does not turn where the workers do not start with the app', async () => {
    @Injectable()
    class Reports {
      @JobHandler('report')
      @JobSchedule(yearly)
      write(): void {}
    }
    const app = await startDatabaseApp(await sqlite(), { providers: [Reports] }, { autoStart: false });
    const queue = app.get(PersistentJobQueue);

    expect(await queue.schedules.list()).toEqual([]);
    await queue.start();
    await until(async () => (await queue.schedules.list()).length === 1);
  });

  it.each([
    ['61 * * * *', {}, /@JobSchedule on Reports\.write: cron must be five fields/],
    ['0 0 31 2 *', {}, /@JobSchedule on Reports\.write: cron must come true some day/],
    [yearly, { timeZone: 'Moon' }, /@JobSchedule on Reports\.write: timeZone must be the name of a time zone.*'Moon'/],
    [yearly, { type: 'nothing' }, /needs a @JobHandler beside it for the type 'nothing'.*there is 'report'/],
    [yearly, { on: 'persistent' as const }, /on is 'persistent', but JobsModule has persistent: false/],
    [yearly, { instance: 'nowhere' }, /@JobSchedule on Reports.write is bound to the instance 'nowhere'/],
    [yearly, { on: 'memory' as const, queue: 'mail' }, /have no option 'queue'/],
  ])('fails the start of the app with %s, %j', async (cron, options, message) => {
    const start = (): Promise<unknown> => {
      class Reports {
        @JobHandler('report')
        @JobSchedule(cron, options)
        write(): void {}
      }
      return startMemoryApp({ providers: [Reports] });
    };

    await expect(async () => start()).rejects.toThrow(message);
  });

  it('fails the start of the app where two have one name', async () => {
    class Reports {
      @JobHandler('report')
      @JobSchedule(yearly)
      @JobSchedule('0 7 * * *')
      write(): void {}
    }

    await expect(startMemoryApp({ providers: [Reports] })).rejects.toMatchObject({
      code: 'JOBS_DUPLICATE_SCHEDULE',
      message: expect.stringMatching(/two schedules in the code are called 'report'/),
    });
  });

  it.each([
    [{ every: 5 }, /@JobSchedule on Reports\.write: options have no option 'every'/],
    [{ name: '' }, /name must be 1 to 255 characters/],
    [{ misfire: 'never' }, /misfire must be 'skip' or 'once' or 'all', got 'never'/],
    [{ maxRetries: -1 }, /maxRetries/],
  ])('refuses %j where it stands', (options, message) => {
    const define = (): void => {
      class Reports {
        @JobSchedule(yearly, options as object)
        write(): void {}
      }
      void Reports;
    };

    expect(define).toThrow(message);
  });
});
