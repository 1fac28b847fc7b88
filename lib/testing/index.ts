export { jobMatchers } from './job-matchers.js';
export type { JobMatchers, MatcherResult, PayloadPart } from './job-matchers.js';
export type { JobRun } from './job-run.js';
export { JobsTesting, JobsTestingModule } from './jobs-testing.module.js';
export type { JobsTestingOptions } from './jobs-testing.module.js';
export type { Performed, PerformOptions } from './perform.js';
export { TestClock } from './test-clock.js';
export { TestJobs } from './test-jobs.js';
export type { DrainOptions, EnqueuedTestJob, TestingMode } from './test-jobs.js';
