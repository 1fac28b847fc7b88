import type { INestApplicationContext, LoggerService, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueue, JobsModule, type JobsModuleOptions } from 'nestjs-jobs';

/** What the apps of one spec file have in common: they are closed after each test. */
const running = new Set<INestApplicationContext>();

/** Starts an app; rejects with the reason where it does not start. `closeApps` closes it. */
export async function startApp(
  metadata: ModuleMetadata,
  logger: LoggerService | false = false,
): Promise<INestApplicationContext> {
  const root = { module: class AppModule {}, ...metadata };
  const app = await NestFactory.createApplicationContext(root, { logger, abortOnError: false });
  running.add(app);
  return app;
}

/** Starts an app that has the memory queue only, without retries. */
export function startMemoryApp(
  metadata: ModuleMetadata,
  options: JobsModuleOptions = {},
  logger: LoggerService | false = false,
): Promise<INestApplicationContext> {
  const jobs = JobsModule.forRoot({ memory: { maxRetries: 0 }, persistent: false, ...options });
  return startApp({ ...metadata, imports: [jobs, ...(metadata.imports ?? [])] }, logger);
}

/** Runs one job on the memory queue of an app, to its end. */
export async function runJob(app: INestApplicationContext, type: string, payload?: unknown): Promise<void> {
  const queue = app.get(JobQueue);
  queue.submit(type, payload);
  await queue.join();
}

/** The job types that the queues of an app can run. */
export function knownTypes(app: INestApplicationContext): readonly string[] {
  return app.get(JobQueue).handlers.types();
}

/** For `afterEach`. */
export async function closeApps(): Promise<void> {
  const apps = [...running];
  running.clear();
  await Promise.all(apps.map((app) => app.close()));
}

/** A logger that keeps its lines. */
export class RecordingLogger implements LoggerService {
  readonly lines: string[] = [];

  log = (message: unknown, context?: string): void => this.keep('log', message, context);
  warn = (message: unknown, context?: string): void => this.keep('warn', message, context);
  debug = (): void => undefined;
  verbose = (): void => undefined;
  error = (message: unknown, ...rest: unknown[]): void => this.keep('error', message, rest.at(-1));

  /** The lines of this library, each as `level: text`. */
  ofJobs(): readonly string[] {
    return this.lines.filter((line) => line.startsWith('[Jobs')).map((line) => line.replace(/^\[[^\]]*\] /, ''));
  }

  private keep(level: string, message: unknown, context: unknown): void {
    this.lines.push(`[${String(context)}] ${level}: ${String(message)}`);
  }
}
