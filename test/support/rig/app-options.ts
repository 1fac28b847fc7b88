import type { JobScheduleOptions, JobsModuleOptions, PersistentQueueOptions } from 'nestjs-jobs';
import type { DataSourceOptions } from 'typeorm';
import type { Step } from './script.js';

/** What an app of the rig is; plain data, handed to its process as JSON in the environment variable `RIG`. */
export interface AppOptions {
  /** By it steps can be meant for one app. */
  readonly name: string;
  readonly dataSource: DataSourceOptions;
  readonly jobs: JobsModuleOptions & { readonly persistent: PersistentQueueOptions };
  /** The schedules in its code. */
  readonly schedules: readonly AppSchedule[];
  /** The job types that it can run. */
  readonly types: readonly string[];
  /** Those of them whose handlers are transactional. */
  readonly transactional: readonly string[];
  /** The folder in which an open gate is a file. */
  readonly gates: string;
}

/** A schedule whose jobs note `<label> <slot>` and then take these steps. */
export interface AppSchedule extends Pick<JobScheduleOptions, 'misfire' | 'overlap'> {
  readonly name: string;
  readonly cron: string;
  readonly label?: string;
  readonly steps?: readonly Step[];
  /** Default: `work`. */
  readonly type?: string;
}

/** What the process prints when its app is up. */
export const readyLine = 'the app is up';

/** What it prints on SIGTERM, before the app begins to close. */
export const stoppingLine = 'the app is told to stop';

/** How lines begin that tell of something which no app may do. */
export const faultMark = 'FAULT ';
