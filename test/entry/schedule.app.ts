/** Run by doors.spec.ts where cron is absent: an app with a schedule. Prints why it does not start. */
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobSchedule, JobsError, JobsModule } from 'nestjs-jobs';

@Injectable()
class Reports {
  @JobHandler('report')
  @JobSchedule('0 7 * * *')
  write(): void {}
}

@Module({ imports: [JobsModule.forRoot({ persistent: false })], providers: [Reports] })
class AppModule {}

try {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  console.log('started');
  await app.close();
} catch (error) {
  console.log(error instanceof JobsError ? `${error.code}: ${error.message}` : error);
}
