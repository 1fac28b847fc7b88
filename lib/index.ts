export { JobsAdmin } from './admin/jobs-admin.js';
export type { JobPage } from './admin/jobs-admin.js';
export type {
  BulkOptions,
  CountOptions,
  JobChanges,
  JobFilterOptions,
  JobGroupOptions,
  ListOptions,
  ReadOptions,
  RetryManyOptions,
} from './admin/admin-options.js';
export type { BulkResult } from './admin/bulk.js';
export type { PauseOptions } from './admin/pause-options.js';
export type { PauseTarget } from './stores/pauses.js';
export type {
  JobStatistics,
  JobTally,
  Percentiles,
  StatisticsOptions,
  TypeStatistics,
} from './admin/job-statistics.js';
export type { JobRecord } from './admin/job-record.js';
export type { CountsByState, JobCount, JobCounts, JobProcess } from './admin/overview.js';
export type { ScheduleRecord } from './admin/schedule-record.js';
export { JobHandler } from './handlers/job-handler.decorator.js';
export type { HandlerDecorator, JobHandlerOptions } from './handlers/job-handler.decorator.js';
export type { RegisterOptions } from './handlers/handler-options.js';
export { JobSchedule } from './handlers/job-schedule.decorator.js';
export type { JobScheduleOptions } from './handlers/job-schedule.decorator.js';
export { OnJobEvent } from './handlers/on-job-event.decorator.js';
export type { ListenerDecorator, OnJobEventOptions } from './handlers/on-job-event.decorator.js';
export { JobsModule } from './jobs.module.js';
export type { JobsModuleAsyncOptions, JobsModuleOptions, JobsOptionsFactory } from './jobs.options.js';
export {
  getJobQueueToken,
  getJobsAdminToken,
  getPersistentJobQueueToken,
  InjectJobQueue,
  InjectJobsAdmin,
  InjectPersistentJobQueue,
} from './jobs.tokens.js';
export type { BatchRecord, JobBatch } from './model/batch.js';
export type { ContextCarrier } from './model/context-carrier.js';
export type { ThrottleOptions, UniqueOptions } from './model/duplicates.js';
export type { DueOptions, EnqueueOptions, ExpiryOptions, SubmitOptions } from './model/enqueue-options.js';
export type { EnqueueOutcome, EnqueueResult } from './model/enqueue-result.js';
export {
  DeclaredScheduleError,
  DuplicateHandlerError,
  DuplicateJobsModuleError,
  DuplicateScheduleError,
  InvalidHandlerError,
  InvalidJobTypeError,
  InvalidManagerError,
  InvalidOptionError,
  InvalidPayloadError,
  JobAbortedError,
  JobsError,
  MiddlewareError,
  MissingDataSourceError,
  MissingPackageError,
  PayloadTooLargeError,
  PersistentQueueDisabledError,
  QueueClosedError,
  QueueFullError,
  SchemaError,
  StoreError,
  TransactionWaitError,
  UnknownJobTypeError,
  UnknownScheduleError,
  UnsupportedDatabaseError,
} from './model/errors.js';
export type { AbortCause, PayloadIssue } from './model/errors.js';
export type { JobEventKind } from './model/events.js';
export type { EventJob, EventOrigin, JobEvent, QueueKind } from './model/job-event.js';
export type { ControlResult } from './model/control-result.js';
export type { JobState } from './model/job-state.js';
export type { JobContext, JobLogger } from './model/job-context.js';
export type { EnqueuedJob, JobMiddleware, JobMiddlewareClass } from './model/job-middleware.js';
export type {
  PayloadClass,
  PayloadSchema,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from './model/payload-schema.js';
export type { JobPayloads, JobType, PayloadArguments, PayloadOf } from './model/job-payloads.js';
export type { HandlerPolicyOptions } from './model/handler-policy.js';
export type { JobProgress } from './model/job-progress.js';
export type { JobLog, JobLogLine } from './model/log-lines.js';
export type { MemoryQueueOptions, PersistentQueueOptions } from './model/queue-options.js';
export type { MisfirePolicy, OverlapPolicy, ScheduleSource } from './model/schedule.js';
export type {
  DeclaredScheduleOptions,
  ScheduledEnqueueOptions,
  ScheduleOptions,
  SchedulePayload,
  ScheduleRules,
} from './model/schedule-options.js';
export type { RateLimitOptions } from './model/rate-limit.js';
export type { RetentionOptions } from './model/retention.js';
export type { BackoffFunction, BackoffKind, BackoffOptions } from './model/retry-policy.js';
export { Discard, RetryAfter, Snooze } from './model/steering.js';
export type { BatchOptions, ChainStep, EnqueuedBatch, FollowUps } from './queues/batch-request.js';
export { JobQueue } from './queues/job-queue.js';
export type { MemoryRequest } from './queues/memory-batch.js';
export type { MemoryJob } from './queues/memory-job-maker.js';
export { JobSchedules } from './queues/job-schedules.js';
export { PersistentJobQueue } from './queues/persistent-job-queue.js';
export type { JobRequest } from './queues/job-request.js';
export type { DueJob } from './stores/job-queries.js';
