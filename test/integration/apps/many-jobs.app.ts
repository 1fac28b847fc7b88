/**
 * Run by memory-growth.spec.ts with `--expose-gc`: sends many jobs through both queues and prints how the heap has grown between
 * ten thousand of each and fifty thousand.
 */
import { setTimeout } from 'node:timers/promises';
import { Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobHandler, JobQueue, JobsModule, PersistentJobQueue, type JobContext } from 'nestjs-jobs';
import type { DataSourceOptions } from 'typeorm';

const batch = 1_000;
let ended = 0;

/** Half of its jobs fail, and all of them leave a listener on their signal. */
function work(payload: number, { signal }: JobContext): void {
  signal.addEventListener('abort', () => undefined);
  ended += 1;
  if (payload % 2 === 1) throw new Error('boom');
}

@Injectable()
class Hands {
  @JobHandler('plain')
  plain(payload: number, job: JobContext): void {
    work(payload, job);
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestHands {
  @JobHandler('of a request')
  ofRequest(payload: number, job: JobContext): void {
    work(payload, job);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot(JSON.parse(process.env['DATA_SOURCE'] ?? '') as DataSourceOptions),
    JobsModule.forRoot({ memory: { maxRetries: 0 }, persistent: { maxRetries: 0 } }),
  ],
  providers: [Hands, RequestHands],
})
class AppModule {}

process.on('warning', (warning) => console.log(`warning: ${warning.message}`));
const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const [memory, persistent] = [app.get(JobQueue), app.get(PersistentJobQueue)];

const types = (n: number): string => (n % 10 === 0 ? 'of a request' : 'plain');

async function run(jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += batch) {
    const target = ended + 2 * batch;
    const made = Array.from({ length: batch }, (_unused, n) => ({ type: types(n), payload: n }));
    await persistent.enqueueMany(made);
    for (const { type, payload } of made) memory.submit(type, payload);
    while (ended < target) await setTimeout(2);
  }
}

async function heap(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    await setTimeout(20);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

await run(10_000);
const before = await heap();
await run(40_000);
const after = await heap();
console.log(`grown by ${Math.round((after - before) / 1_024)} KiB`);
await app.close();
