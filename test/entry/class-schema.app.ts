/** Run by doors.spec.ts where class-validator is absent: an app with a class for a schema. Prints why it does not start. */
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobsError, JobsModule } from 'nestjs-jobs';

class Order {
  to!: string;
}

@Injectable()
class Shop {
  @JobHandler('order', { schema: Order })
  order(): void {}
}

@Module({ imports: [JobsModule.forRoot({ persistent: false })], providers: [Shop] })
class AppModule {}

try {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  console.log('started');
  await app.close();
} catch (error) {
  console.log(error instanceof JobsError ? `${error.code}: ${error.message}` : error);
}
