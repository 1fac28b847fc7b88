/** What the fragments in the documentation, those blocks of code without imports, may use without saying where it comes from. */
export const docsPrelude = `
type Jobs = typeof import('nestjs-jobs');
declare const JobHandler: Jobs['JobHandler'];
declare const JobSchedule: Jobs['JobSchedule'];
declare const OnJobEvent: Jobs['OnJobEvent'];
type JobEvent<K extends JobEventKind = JobEventKind> = import('nestjs-jobs').JobEvent<K>;
type JobEventKind = import('nestjs-jobs').JobEventKind;
declare const JobsModule: Jobs['JobsModule'];
declare const JobsError: Jobs['JobsError'];
declare const PersistentJobQueue: Jobs['PersistentJobQueue'];
declare const InjectPersistentJobQueue: Jobs['InjectPersistentJobQueue'];
type PersistentJobQueue = import('nestjs-jobs').PersistentJobQueue;
type JobContext = import('nestjs-jobs').JobContext;
declare const JobsAdmin: Jobs['JobsAdmin'];
type JobsAdmin = import('nestjs-jobs').JobsAdmin;

type Common = typeof import('@nestjs/common');
declare const Inject: Common['Inject'];
declare const Injectable: Common['Injectable'];
declare const Module: Common['Module'];
declare const Scope: Common['Scope'];
type Core = typeof import('@nestjs/core');
declare const NestFactory: Core['NestFactory'];
declare const REQUEST: Core['REQUEST'];
declare const Test: (typeof import('@nestjs/testing'))['Test'];
declare const TypeOrmModule: (typeof import('@nestjs/typeorm'))['TypeOrmModule'];

declare const JobsTesting: (typeof import('nestjs-jobs/testing'))['JobsTesting'];
declare const app: import('@nestjs/common').INestApplicationContext;

declare class AppModule {}
declare class User {
  id: string;
  email: string;
}
declare const user: User;
declare const userId: string;
declare const id: string;
declare const email: string;
declare const payload: unknown;
declare const cache: { warm(userId: string): Promise<void> };
declare const dataSource: import('typeorm').DataSource;
declare const jobs: PersistentJobQueue;
declare const memory: import('nestjs-jobs').JobQueue;
`;
