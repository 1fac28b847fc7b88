import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readDoor } from '../support/source-files.js';

const root = join(import.meta.dirname, '../..');

/** Runs Node in a process of its own, straight from the sources, and returns what it printed. */
async function runNode(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', './scripts/typescript.mjs', ...args],
    { cwd: root },
  );
  return (stdout + stderr).trim();
}

const typeOrmAbsent = ['--import', './test/entry/typeorm-absent.mjs'];

/** What a door exports is kept until a major version: these lists grow, and a change of any other kind is a breaking one. */
const doors = {
  '.': {
    file: 'index.ts',
    values: [
      'DeclaredScheduleError',
      'Discard',
      'DuplicateHandlerError',
      'DuplicateJobsModuleError',
      'DuplicateScheduleError',
      'InjectJobQueue',
      'InjectJobsAdmin',
      'InjectPersistentJobQueue',
      'InvalidHandlerError',
      'InvalidJobTypeError',
      'InvalidManagerError',
      'InvalidOptionError',
      'InvalidPayloadError',
      'JobAbortedError',
      'JobHandler',
      'JobQueue',
      'JobSchedule',
      'JobSchedules',
      'JobsAdmin',
      'JobsError',
      'JobsModule',
      'MiddlewareError',
      'MissingDataSourceError',
      'MissingPackageError',
      'OnJobEvent',
      'PayloadTooLargeError',
      'PersistentJobQueue',
      'PersistentQueueDisabledError',
      'QueueClosedError',
      'QueueFullError',
      'RetryAfter',
      'SchemaError',
      'Snooze',
      'StoreError',
      'TransactionWaitError',
      'UnknownJobTypeError',
      'UnknownScheduleError',
      'UnsupportedDatabaseError',
      'getJobQueueToken',
      'getJobsAdminToken',
      'getPersistentJobQueueToken',
    ],
    types: [
      'AbortCause',
      'BackoffFunction',
      'BackoffKind',
      'BackoffOptions',
      'BatchOptions',
      'BatchRecord',
      'BulkOptions',
      'BulkResult',
      'ChainStep',
      'ContextCarrier',
      'ControlResult',
      'CountOptions',
      'CountsByState',
      'DeclaredScheduleOptions',
      'DueJob',
      'DueOptions',
      'EnqueueOptions',
      'EnqueueOutcome',
      'EnqueueResult',
      'EnqueuedBatch',
      'EnqueuedJob',
      'EventJob',
      'EventOrigin',
      'ExpiryOptions',
      'FollowUps',
      'HandlerDecorator',
      'HandlerPolicyOptions',
      'JobBatch',
      'JobChanges',
      'JobContext',
      'JobCount',
      'JobCounts',
      'JobEvent',
      'JobEventKind',
      'JobFilterOptions',
      'JobGroupOptions',
      'JobHandlerOptions',
      'JobLog',
      'JobLogLine',
      'JobLogger',
      'JobMiddleware',
      'JobMiddlewareClass',
      'JobPage',
      'JobPayloads',
      'JobProcess',
      'JobProgress',
      'JobRecord',
      'JobRequest',
      'JobScheduleOptions',
      'JobState',
      'JobStatistics',
      'JobTally',
      'JobType',
      'JobsModuleAsyncOptions',
      'JobsModuleOptions',
      'JobsOptionsFactory',
      'ListOptions',
      'ListenerDecorator',
      'MemoryJob',
      'MemoryQueueOptions',
      'MemoryRequest',
      'MisfirePolicy',
      'OnJobEventOptions',
      'OverlapPolicy',
      'PauseOptions',
      'PauseTarget',
      'PayloadArguments',
      'PayloadClass',
      'PayloadIssue',
      'PayloadOf',
      'PayloadSchema',
      'Percentiles',
      'PersistentQueueOptions',
      'QueueKind',
      'RateLimitOptions',
      'ReadOptions',
      'RegisterOptions',
      'RetentionOptions',
      'RetryManyOptions',
      'ScheduleOptions',
      'SchedulePayload',
      'ScheduleRecord',
      'ScheduleRules',
      'ScheduleSource',
      'ScheduledEnqueueOptions',
      'StandardIssue',
      'StandardResult',
      'StandardSchema',
      'StatisticsOptions',
      'SubmitOptions',
      'ThrottleOptions',
      'TypeStatistics',
      'UniqueOptions',
    ],
  },
  './testing': {
    file: 'testing/index.ts',
    values: ['JobsTesting', 'JobsTestingModule', 'TestClock', 'TestJobs', 'jobMatchers'],
    types: [
      'DrainOptions',
      'EnqueuedTestJob',
      'JobMatchers',
      'JobRun',
      'JobsTestingOptions',
      'MatcherResult',
      'PayloadPart',
      'PerformOptions',
      'Performed',
      'TestingMode',
    ],
  },
  './typeorm': {
    file: 'stores/typeorm/index.ts',
    values: ['CreateJobs1764547200000', 'jobMigrations'],
    types: ['JobMigration'],
  },
};

describe('the doors of the package', () => {
  it('are those that package.json names', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

    expect(manifest).toMatchObject({
      exports: { '.': {}, './testing': {}, './typeorm': {}, './package.json': './package.json' },
    });
  });

  it.each(Object.entries(doors))('%s exports these names, one by one', (_door, { file, values, types }) => {
    expect(readDoor(file)).toEqual({ values, types });
  });

  it.each(Object.keys(doors))('%s loads alone and leaves nothing running', async (door) => {
    const specifier = join('nestjs-jobs', door);

    const printed = await runNode('--input-type=module', '-e', `import '${specifier}'`);

    expect(printed).toBe('');
  });
});

describe('the main door, where TypeORM is absent', () => {
  it('runs an app with the memory queue', async () => {
    expect(await runNode(...typeOrmAbsent, 'test/entry/memory-only.app.ts')).toBe('hello Ada');
  });

  it('says at start what the persistent queue needs', async () => {
    expect(await runNode(...typeOrmAbsent, 'test/entry/persistent.app.ts')).toMatch(
      /^JOBS_MISSING_DATA_SOURCE: .*persistent: false/,
    );
  });
});

describe('the main door, where cron is absent', () => {
  it('says at start what schedules need', async () => {
    expect(await runNode('--import', './test/entry/cron-absent.mjs', 'test/entry/schedule.app.ts')).toBe(
      "JOBS_MISSING_PACKAGE: schedules need the package 'cron', which comes with @nestjs/schedule: npm install @nestjs/schedule",
    );
  });

  it('takes it from beside @nestjs/schedule, where it is hidden from all others', async () => {
    expect(await runNode('--import', './test/entry/cron-hidden.mjs', 'test/entry/schedule.app.ts')).toBe('started');
  });
});

describe('the testing kit, where TypeORM is absent', () => {
  it('runs the jobs of an app, holds nothing, and lets the process end though the app is not closed', async () => {
    expect(await runNode(...typeOrmAbsent, 'test/entry/testing-kit.app.ts')).toBe('hello Ada\nheld: nothing');
  });
});

describe('the main door, where class-validator is absent', () => {
  it('says at start what a class for a schema needs', async () => {
    expect(
      await runNode('--import', './test/entry/class-validator-absent.mjs', 'test/entry/class-schema.app.ts'),
    ).toMatch(/^JOBS_INVALID_HANDLER: the schema of job type 'order' is the class Order, which takes class-validator/);
  });
});
