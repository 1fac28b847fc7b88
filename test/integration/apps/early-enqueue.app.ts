/**
 * Run by scripts.spec.ts: enqueues in a factory that Nest waits for. Nothing but our own wait may hold the process then. With
 * BROKEN set the app fails to start.
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { JobsModule, PersistentJobQueue } from 'nestjs-jobs';

const dataSource = JSON.parse(process.env['DATA_SOURCE'] ?? '') as TypeOrmModuleOptions;

class Broken {
  constructor() {
    if (process.env['BROKEN'] !== undefined) throw new Error('cannot be made');
  }
}

const factory = {
  provide: 'FACTORY',
  inject: [PersistentJobQueue],
  useFactory: async (jobs: PersistentJobQueue) => {
    await jobs.enqueue('work');
    console.log('enqueued');
  },
};

@Module({
  imports: [JobsModule.forRoot(), TypeOrmModule.forRoot(dataSource)],
  providers: [factory, Broken],
})
class AppModule {}

try {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  console.log('started');
  await app.close();
  console.log('closed');
} catch (error) {
  console.log(String(error));
}
