/** Run by scripts.spec.ts: a testing module that is compiled and not initialised. Closes what the app itself has opened. */
import { Test } from '@nestjs/testing';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { JobHandler, JobQueue, JobsModule, PersistentJobQueue } from 'nestjs-jobs';
import { DataSource } from 'typeorm';

const dataSource = JSON.parse(process.env['DATA_SOURCE'] ?? '') as TypeOrmModuleOptions;

class Worker {
  @JobHandler('work')
  work(): void {
    console.log('a job ran');
  }
}

const before = process.getActiveResourcesInfo();
const module = await Test.createTestingModule({
  imports: [TypeOrmModule.forRoot(dataSource), JobsModule.forRoot()],
  providers: [Worker],
}).compile();
const queues = [module.get(JobQueue), module.get(PersistentJobQueue)];
await module.get(DataSource).destroy();
const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
const timersBefore = before.filter((resource) => resource === 'Timeout');
console.log(`${queues.length} queues, ${timers.length - timersBefore.length} timers more`);
