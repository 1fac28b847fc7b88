/** Run by doors.spec.ts where TypeORM is absent: an app with the memory queue alone. Prints what its jobs did. */
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueue, JobsModule } from 'nestjs-jobs';

@Injectable()
class Greeter {
  @JobHandler('greet')
  greet(name: string): void {
    console.log(`hello ${name}`);
  }
}

@Module({ imports: [JobsModule.forRoot({ persistent: false })], providers: [Greeter] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const queue = app.get(JobQueue);
queue.submit('greet', 'Ada');
await queue.join();
await app.close();
