/** Run by doors.spec.ts where TypeORM is absent: an app that does not say `persistent: false`. Prints why it does not start. */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobsError, JobsModule } from 'nestjs-jobs';

@Module({ imports: [JobsModule.forRoot()] })
class AppModule {}

try {
  await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
} catch (error) {
  console.log(error instanceof JobsError ? `${error.code}: ${error.message}` : error);
}
