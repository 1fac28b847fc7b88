export { JobHandler } from './handlers/job-handler.decorator.js';
export type { HandlerDecorator, JobHandlerOptions } from './handlers/job-handler.decorator.js';
export { OnJobEvent } from './handlers/on-job-event.decorator.js';
export type { ListenerDecorator, OnJobEventOptions } from './handlers/on-job-event.decorator.js';
export { JobsModule } from './jobs.module.js';
export type { JobsModuleAsyncOptions, JobsModuleOptions, JobsOptionsFactory } from './jobs.options.js';
export {
  getJobQueueToken,
  getPersistentJobQueueToken,
  InjectJobQueue,
  InjectPersistentJobQueue,
} from './jobs.tokens.js';
export type { ContextCarrier } from './model/context-carrier.js';
export type { DueOptions, EnqueueOptions, SubmitOptions } from './model/enqueue-options.js';
export {
  DuplicateHandlerError,
  DuplicateJobsModuleError,
  InvalidHandlerError,
  InvalidJobTypeError,
  InvalidManagerError,
  InvalidOptionError,
  InvalidPayloadError,
  JobAbortedError,
  JobsError,
  MiddlewareError,
  MissingDataSourceError,
  PayloadTooLargeError,
  PersistentQueueDisabledError,
  QueueClosedError,
  QueueFullError,
  SchemaError,
  StoreError,
  TransactionWaitError,
  UnknownJobTypeError,
  UnsupportedDatabaseError,
} from './model/errors.js';
export type { AbortCause, PayloadIssue } from './model/errors.js';
export type { JobEventKind } from './model/events.js';
export type { EventJob, EventOrigin, JobEvent, QueueKind } from './model/job-event.js';
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
export type { MemoryQueueOptions, PersistentQueueOptions, RetentionOptions } from './model/queue-options.js';
export type { BackoffOptions } from './model/retry-policy.js';
export { JobQueue } from './queues/job-queue.js';
export type { MemoryJob } from './queues/job-queue.js';
export { PersistentJobQueue } from './queues/persistent-job-queue.js';
export type { JobRequest } from './queues/job-request.js';
