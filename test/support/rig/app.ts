/** A small real app in a process of its own, for tests that send it signals. Started by rig.ts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobAbortedError, JobHandler, JobSchedule, JobsModule, PersistentJobQueue, type JobContext } from 'nestjs-jobs';
import type { EntityManager } from 'typeorm';
import { faultMark, readyLine, stoppingLine, type AppOptions } from './app-options.js';
import { Effects } from './effects.js';
import { take, type Step } from './script.js';

// Whoever started it is gone: there is nobody to print to, and nothing to stay for.
process.stdout.on('error', () => process.kill(process.pid, 'SIGKILL'));

const print = (line: string): void => void process.stdout.write(`${line}\n`);

for (const kind of ['unhandledRejection', 'uncaughtException', 'warning']) {
  process.on(kind, (reason: unknown) =>
    print(`${faultMark}${kind}: ${reason instanceof Error ? reason.stack : String(reason)}`),
  );
}

const options = JSON.parse(process.env['RIG'] ?? '') as AppOptions;
const effects = await Effects.open(options.dataSource);

@Injectable()
class Hands {
  constructor(private readonly jobs: PersistentJobQueue) {}

  async work(steps: readonly Step[], job: JobContext<EntityManager>): Promise<void> {
    const { id, type, attempt, signal } = job;
    const note = (what: string): Promise<void> => effects.add({ jobId: id, jobType: type, run: attempt, what });
    // Told to stop because the database is gone, it has nowhere to write that down.
    const noteAbort = (): Promise<void> => note(`aborted: ${reasonOf(signal)}`).catch(() => undefined);
    signal.addEventListener('abort', () => void noteAbort());
    // Before anything else has had its turn.
    if (steps[0]?.do === 'kill') process.kill(process.pid, steps[0].signal);
    await note('start');
    await take(steps, {
      name: options.name,
      signal,
      note,
      enqueue: (next) => this.jobs.enqueue(next, []),
      write: () => job.manager.query(`INSERT INTO written (job_id) VALUES ('${id}')`),
      isOpen: (gate) => existsSync(join(options.gates, gate)),
    });
    await note('done');
  }
}

for (const type of options.types) {
  const transactional = options.transactional.includes(type);
  JobHandler(type, { transactional })(Hands.prototype, 'work', { value: Hands.prototype.work });
}

for (const { name, cron, label = 'slot', steps = [], type = 'work', ...rules } of options.schedules) {
  const payload = (slot: Date): readonly Step[] => [{ do: 'note', what: `${label} ${slot.toISOString()}` }, ...steps];
  const descriptor = { value: Hands.prototype.work };
  JobSchedule(cron, { name, type, payload, ...rules })(Hands.prototype, 'work', descriptor);
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof JobAbortedError ? reason.reason : String(reason);
}

/** One line on standard output for each line of the log. */
const logger: LoggerService = {
  log: (message: unknown, ...rest: unknown[]) => tell('log', message, rest),
  warn: (message: unknown, ...rest: unknown[]) => tell('warn', message, rest),
  error: (message: unknown, ...rest: unknown[]) => tell('error', message, rest),
  debug: (message: unknown, ...rest: unknown[]) => tell('debug', message, rest),
};

function tell(level: string, message: unknown, rest: readonly unknown[]): void {
  print(`[${String(rest.at(-1))}] ${level}: ${String(message)}`);
}

@Module({
  imports: [TypeOrmModule.forRoot({ ...options.dataSource, retryAttempts: 0 }), JobsModule.forRoot(options.jobs)],
  providers: [Hands],
})
class AppModule {}

process.once('SIGTERM', () => print(stoppingLine));
const app = await NestFactory.createApplicationContext(AppModule, { logger });
app.enableShutdownHooks();
print(readyLine);
