/** Base of every error that this library throws. `code` is stable; messages may be reworded. */
export abstract class JobsError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option has a value that it cannot have. The message names the option, the rule and the value. */
export class InvalidOptionError extends JobsError {
  readonly code = 'JOBS_INVALID_OPTION';
}

/** A job type that is no text of 1 to 255 characters, or holds control characters or white space at an end. */
export class InvalidJobTypeError extends JobsError {
  readonly code = 'JOBS_INVALID_JOB_TYPE';
}

/** What a schema says of one value in a payload. */
export interface PayloadIssue {
  /** Where it stands: `payload.items[0].id`. */
  readonly path: string;
  /** In the words of the schema's library, which may hold the value itself: nothing for a log. */
  readonly message: string;
}

/** A payload that JSON cannot carry faithfully, or that does not fit its schema. The message names the paths of the offending values. */
export class InvalidPayloadError extends JobsError {
  readonly code = 'JOBS_INVALID_PAYLOAD';
  /** What the schema says, where it was one that refused. Not enumerable, so that nobody logs it by logging the error. */
  declare readonly issues?: readonly PayloadIssue[];

  /** @internal */
  withIssues(issues: readonly PayloadIssue[]): this {
    return Object.defineProperty(this, 'issues', { value: issues, configurable: true });
  }
}

/** A payload above the limit of the queue or of the database. */
export class PayloadTooLargeError extends JobsError {
  readonly code = 'JOBS_PAYLOAD_TOO_LARGE';
}

/** No handler is registered for this job type. */
export class UnknownJobTypeError extends JobsError {
  readonly code = 'JOBS_UNKNOWN_JOB_TYPE';
}

/** Two different methods or functions want to handle one job type. */
export class DuplicateHandlerError extends JobsError {
  readonly code = 'JOBS_DUPLICATE_HANDLER';
}

/** A class or method that cannot be a handler. */
export class InvalidHandlerError extends JobsError {
  readonly code = 'JOBS_INVALID_HANDLER';
}

/** A middleware did not call `next` just once. */
export class MiddlewareError extends JobsError {
  readonly code = 'JOBS_MIDDLEWARE';
}

/** Two `JobsModule` registrations have the same name. */
export class DuplicateJobsModuleError extends JobsError {
  readonly code = 'JOBS_DUPLICATE_MODULE';
}

/** The persistent queue found no TypeORM DataSource under the expected name. */
export class MissingDataSourceError extends JobsError {
  readonly code = 'JOBS_MISSING_DATA_SOURCE';
}

/** Something injects the persistent queue of a `JobsModule` that was told to do without it. */
export class PersistentQueueDisabledError extends JobsError {
  readonly code = 'JOBS_PERSISTENT_DISABLED';
}

/** The DataSource's database is none of those that the persistent queue knows. */
export class UnsupportedDatabaseError extends JobsError {
  readonly code = 'JOBS_UNSUPPORTED_DATABASE';
}

/** The job table is missing, of another version, or may not be made by this database role. */
export class SchemaError extends JobsError {
  readonly code = 'JOBS_SCHEMA';
}

/** A package that is needed for what is asked for is not installed; the message names it. */
export class MissingPackageError extends JobsError {
  readonly code = 'JOBS_MISSING_PACKAGE';
}

/** There is no schedule of this name. */
export class UnknownScheduleError extends JobsError {
  readonly code = 'JOBS_UNKNOWN_SCHEDULE';
}

/** A schedule that stands in code cannot be changed or removed at run time, and its payload function runs only where that code does. */
export class DeclaredScheduleError extends JobsError {
  readonly code = 'JOBS_DECLARED_SCHEDULE';
}

/** Two schedules in the code have one name. */
export class DuplicateScheduleError extends JobsError {
  readonly code = 'JOBS_DUPLICATE_SCHEDULE';
}

/** The queue was joined, stopped for good or closed, and takes no more jobs. */
export class QueueClosedError extends JobsError {
  readonly code = 'JOBS_QUEUE_CLOSED';
}

/** The memory queue holds as many waiting jobs as it may. */
export class QueueFullError extends JobsError {
  readonly code = 'JOBS_QUEUE_FULL';
}

/** The `manager` given to `enqueue` cannot be used: released, without a transaction, or of another DataSource. */
export class InvalidManagerError extends JobsError {
  readonly code = 'JOBS_INVALID_MANAGER';
}

/** SQLite only: another transaction on the shared connection stayed open for too long. */
export class TransactionWaitError extends JobsError {
  readonly code = 'JOBS_TRANSACTION_WAIT';
}

/** The database refused or did not answer; `cause` is the driver's own error. */
export class StoreError extends JobsError {
  readonly code = 'JOBS_STORE';
  /**
   * What the database answered with a no to: a value, and then nothing is stored, or the request as a whole, for want of a right or a table. Not
   * enumerable, since it is of no use in a log. @internal
   */
  declare readonly refuses?: 'value' | 'request';

  /** @internal */
  refusing(what: 'value' | 'request'): this {
    return Object.defineProperty(this, 'refuses', { value: what });
  }
}

/** Why `job.signal` was aborted. */
export type AbortCause = 'timeout' | 'cancelled' | 'lease lost' | 'shutdown';

/** The reason of an aborted `job.signal`. */
export class JobAbortedError extends JobsError {
  readonly code = 'JOBS_ABORTED';

  constructor(
    /** Why the attempt should end. */
    readonly reason: AbortCause,
    message: string,
  ) {
    super(message);
  }
}
