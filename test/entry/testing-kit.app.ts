/** Run by doors.spec.ts where TypeORM is absent: an app in the testing kit, which is never closed. The process has to end all the same. */
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueue, JobsModule, PersistentJobQueue } from 'nestjs-jobs';
import { JobsTesting, JobsTestingModule } from 'nestjs-jobs/testing';

@Injectable()
class Greeter {
  @JobHandler('greet')
  greet(name: string): void {
    if (name === 'Bob') throw new Error('not him');
    console.log(`hello ${name}`);
  }
}

@Module({ imports: [JobsModule.forRoot(), JobsTestingModule.forRoot()], providers: [Greeter] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const jobs = app.get(JobsTesting);
await app.get(PersistentJobQueue).enqueue('greet', 'Ada', { delay: 60_000 });
await app.get(PersistentJobQueue).enqueue('greet', 'Bob');
app.get(JobQueue).submit('greet', 'Eve', { delay: 120_000 });
await jobs.drain();
jobs.clock.advance(60_000);
await jobs.drain();
const held = process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate|TCP|Pipe(?!Wrap)/.test(kind));
console.log(`held: ${held.join(', ') || 'nothing'}`);
