import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { JobHandler, JobQueue, JobsModule, PersistentJobQueue, type JobContext } from 'nestjs-jobs';
import type { JobsTesting } from 'nestjs-jobs/testing';
import { jobMigrations } from 'nestjs-jobs/typeorm';

export type Kit = JobsTesting;

interface WelcomeEmail {
  readonly to: string;
}

declare module 'nestjs-jobs' {
  interface JobPayloads {
    send_welcome_email: WelcomeEmail;
  }
}

@Injectable()
class Outbox {
  readonly sent: string[] = [];
  private notify: () => void = () => undefined;
  readonly firstSent = new Promise<void>((resolve) => {
    this.notify = resolve;
  });

  send(line: string): void {
    this.sent.push(line);
    this.notify();
  }
}

@Injectable()
class Mailer {
  constructor(private readonly outbox: Outbox) {}

  @JobHandler('send_welcome_email')
  async sendWelcomeEmail(payload: WelcomeEmail, job: JobContext): Promise<void> {
    this.outbox.send(`welcome ${payload.to}, attempt ${job.attempt}`);
  }
}

const database = 'consumer.sqlite';

@Module({
  imports: [TypeOrmModule.forRoot({ type: 'better-sqlite3', database }), JobsModule.forRoot()],
  providers: [Outbox, Mailer],
})
class AppModule {}

async function main(): Promise<void> {
  await rm(database, { force: true });
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const outbox = app.get(Outbox);
  const jobs = app.get(PersistentJobQueue);
  const memory = app.get(JobQueue);

  const id: string = await jobs.enqueue('send_welcome_email', { to: 'ada@example.org' });
  assert.match(id, /^[0-9a-f-]{36}$/);
  await outbox.firstSent;
  assert.deepEqual(outbox.sent, ['welcome ada@example.org, attempt 1']);

  memory.submit(() => outbox.send('from memory'));
  await memory.join();
  assert.equal(outbox.sent[1], 'from memory');

  await jobs.stop();
  assert.equal(jobMigrations().length > 0, true);
  const rows: unknown = await app.get(DataSource).query('SELECT * FROM rws_jobs');
  assert.deepEqual(rows, []);
  await app.close();
  await rm(database, { force: true });
  console.log('done');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
