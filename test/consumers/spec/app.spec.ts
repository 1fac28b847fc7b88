/** Jest as a new Nest 11 app has it, and the one line of docs/testing.md: the package is rewritten as CommonJS. */
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobHandler, JobSchedule, JobsModule, PersistentJobQueue } from 'nestjs-jobs';
import { jobMatchers, JobsTesting, JobsTestingModule } from 'nestjs-jobs/testing';

@Injectable()
class Mailer {
  readonly sent: string[] = [];

  @JobHandler('send_welcome_email')
  send({ to }: { to: string }): void {
    this.sent.push(to);
  }

  @JobHandler('send_digest')
  @JobSchedule('0 7 * * *')
  digest(): void {
    this.sent.push('digest');
  }
}

@Module({
  imports: [TypeOrmModule.forRoot({ type: 'better-sqlite3', database: ':memory:' }), JobsModule.forRoot()],
  providers: [Mailer],
})
class AppModule {}

expect.extend(jobMatchers);

async function start(...kit: ReturnType<typeof JobsTestingModule.forRoot>[]): Promise<TestingModule> {
  const app = await Test.createTestingModule({ imports: [AppModule, ...kit] }).compile();
  await app.init();
  return app;
}

it('runs the app with the kit, schedules included', async () => {
  const app = await start(JobsTestingModule.forRoot({ now: new Date('2026-03-02T06:00:00Z') }));
  const jobs = app.get(JobsTesting);

  await app.get(PersistentJobQueue).enqueue('send_welcome_email', { to: 'ada@example.org' });
  expect(jobs).toHaveEnqueued('send_welcome_email', { to: 'ada@example.org' });
  await jobs.drain();
  jobs.clock.advance(3_600_000);
  await jobs.drain();

  expect(app.get(Mailer).sent).toEqual(['ada@example.org', 'digest']);
  await app.close();
});

it('runs the app on its database', async () => {
  const app = await start();

  await app.get(PersistentJobQueue).enqueue('send_welcome_email', { to: 'ada@example.org' });
  while (app.get(Mailer).sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));

  expect(app.get(Mailer).sent).toEqual(['ada@example.org']);
  await app.close();
});
