/**
 * Run by scripts.spec.ts: a script that enqueues one job and closes. Prints the timers that it leaves, and whether the process then
 * ends by itself.
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { JobHandler, JobsModule, PersistentJobQueue } from 'nestjs-jobs';

const dataSource = JSON.parse(process.env['DATA_SOURCE'] ?? '') as TypeOrmModuleOptions;

class Worker {
  @JobHandler('work')
  work(): void {
    console.log('a job ran');
  }
}

@Module({
  imports: [TypeOrmModule.forRoot(dataSource), JobsModule.forRoot({ autoStart: false })],
  providers: [Worker],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
await app.get(PersistentJobQueue).enqueue('work');
await app.close();
const closedAt = performance.now();
await new Promise((resolve) => setImmediate(resolve));
const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
console.log(`${timers.length} timers`);
process.on('exit', () => {
  console.log(performance.now() - closedAt < 1_000 ? 'ended soon' : 'ended late');
});
