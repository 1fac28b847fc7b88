import { Module, type DynamicModule } from '@nestjs/common';
import { harnessToken, type JobsHarness } from '../jobs.harness.js';
import { checkKnownKeys, checkOneOf } from '../model/check.js';
import { checkMoment } from '../model/enqueue-options.js';
import { checkInstanceName, defaultInstanceName } from '../model/instance-name.js';
import { TestClock } from './test-clock.js';
import { TestJobs, type TestingMode } from './test-jobs.js';

/** Options of `JobsTestingModule.forRoot`. */
export interface JobsTestingOptions {
  /** `'manual'`: jobs run when they are told to. `'inline'`: as soon as they are enqueued. Default 'manual'. */
  mode?: TestingMode;
  /** The moment at which the clock stands at first: a Date or epoch milliseconds. Default: now. */
  now?: Date | number;
}

/** The jobs of an app in a test: those of its `JobsModule`, and by `of` those of the others. */
export class JobsTesting extends TestJobs {
  private readonly others = new Map<string, TestJobs>();

  /** For the module. */
  constructor(
    clock: TestClock,
    private readonly modeOfAll: TestingMode,
  ) {
    super(clock, modeOfAll);
  }

  /** The jobs of the `JobsModule` of this name. All have the same clock. @throws InvalidOptionError when it can be no name. */
  named(name: string): TestJobs {
    if (checkInstanceName('name', name) === defaultInstanceName) return this;
    const jobs = this.others.get(name) ?? new TestJobs(this.clock, this.modeOfAll);
    this.others.set(name, jobs);
    return jobs;
  }

  /** @internal */
  of(instance: string): TestJobs['harness'] {
    return this.named(instance).harness;
  }
}

/**
 * Puts a testing kit in the place of tables and workers: an app that imports `JobsModule` runs in its tests unchanged, without a
 * table, and nothing runs by itself. To be imported beside the app; `app.get(JobsTesting)` is the kit.
 */
@Module({})
export class JobsTestingModule {
  /** @throws InvalidOptionError */
  static forRoot(options: JobsTestingOptions = {}): DynamicModule {
    const { mode = 'manual', now } = checkKnownKeys('JobsTestingModule', options, ['mode', 'now']);
    const clock = new TestClock(now === undefined ? undefined : checkMoment('now', now));
    const kit: JobsTesting & JobsHarness = new JobsTesting(
      clock,
      checkOneOf('mode', mode, ['manual', 'inline'] as const),
    );
    const providers = [
      { provide: JobsTesting, useValue: kit },
      { provide: harnessToken, useValue: kit },
    ];
    return { module: JobsTestingModule, global: true, providers, exports: [JobsTesting] };
  }
}
