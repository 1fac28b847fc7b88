/** A process of a chaos run that works jobs, as a Nest app. */
import { Injectable, Module, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobHandler, JobsModule, PersistentJobQueue, type JobContext } from 'nestjs-jobs';
import { DataSource } from 'typeorm';
import { queueOptions, terms } from '../terms.js';
import { Deeds } from './deeds.js';
import { boot, openLedger, readDuty } from './duty.js';
import { ledgerSink } from './ledger-sink.js';
import { OrderDesk, type OrderPayload } from './order-desk.js';

const duty = readDuty();
const ledger = openLedger(duty);

@Injectable()
class Handlers implements OnModuleInit, BeforeApplicationShutdown {
  private readonly deeds: Deeds;

  constructor(
    private readonly jobs: PersistentJobQueue,
    dataSource: DataSource,
  ) {
    this.deeds = new Deeds(ledger, duty.folder, new OrderDesk(ledger, dataSource, jobs));
  }

  onModuleInit(): void {
    for (const kind of Deeds.plainKinds.filter((known) => known !== 'quick')) {
      this.jobs.register(`chaos.${kind}`, (order: unknown, job: JobContext) => this.run(order as OrderPayload, job));
    }
  }

  /** All jobs are drained by now. */
  beforeApplicationShutdown(): void {
    ledger.write({ fact: 'stopped' });
  }

  @JobHandler('chaos.quick')
  run(order: OrderPayload, job: JobContext): Promise<void> {
    return this.deeds.run(order, job);
  }

  @JobHandler('chaos.timeout', { timeout: terms.timeoutMs })
  runInTime(order: OrderPayload, job: JobContext): Promise<void> {
    return this.deeds.run(order, job);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ ...duty.source, retryAttempts: 0 }),
    JobsModule.forRoot({ persistent: queueOptions }),
  ],
  providers: [Handlers],
})
class AppModule {}

await boot(ledger, async () => {
  const logger = ledgerSink(ledger);
  const app = await NestFactory.createApplicationContext(AppModule, { logger, abortOnError: false });
  process.once('SIGTERM', () => ledger.write({ fact: 'stopping' }));
  app.enableShutdownHooks();
});
ledger.write({ fact: 'up' });
