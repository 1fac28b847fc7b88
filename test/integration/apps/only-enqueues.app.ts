/**
 * Run by scripts.spec.ts: a script that enqueues one job and closes. Prints what then still holds the process, and how long it takes
 * to end by itself.
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobHandler, JobsModule, PersistentJobQueue } from 'nestjs-jobs';

class Worker {
  @JobHandler('work')
  work(): void {
    console.log('a job ran');
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot(JSON.parse(process.env['DATA_SOURCE'] ?? '')),
    JobsModule.forRoot({ autoStart: false }),
  ],
  providers: [Worker],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
await app.get(PersistentJobQueue).enqueue('work');
await app.close();
const closedAt = performance.now();
await new Promise((resolve) => setImmediate(resolve));
const held = process.getActiveResourcesInfo().filter((resource) => /Timeout|TCP|Immediate|Pipe/.test(resource));
// Standard output itself is a pipe here.
console.log(`held by: ${held.filter((resource) => resource !== 'PipeWrap').join(', ') || 'nothing'}`);
process.on('exit', () => {
  console.log(performance.now() - closedAt < 1_000 ? 'ended soon' : 'ended late');
});
