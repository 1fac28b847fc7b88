import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobsModule } from 'nestjs-jobs';
import { configToken, type Config } from './config.js';
import { dataSourceOptions } from './database/data-source-options.js';
import { Transactions } from './database/transactions.js';
import { DigestController } from './digest/digest.controller.js';
import { NightlyDigest } from './digest/nightly-digest.js';
import { JobTable, jobTableName } from './jobs/job-table.js';
import { JobsController } from './jobs/jobs.controller.js';
import { DemoMailboxes } from './mail/demo-mailboxes.js';
import { Mailer } from './mail/mailer.js';
import { PostOffice } from './mail/post-office.js';
import { Reminders } from './reminders/reminders.js';
import { RemindersController } from './reminders/reminders.controller.js';
import { SignupController } from './signup/signup.controller.js';
import { SignupService } from './signup/signup.service.js';
import { User } from './signup/user.entity.js';
import { SignupStatistics } from './stats/signup-statistics.js';
import { StatsController } from './stats/stats.controller.js';

@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot(dataSourceOptions(config)),
        TypeOrmModule.forFeature([User]),
        JobsModule.forRoot({ persistent: { tableName: jobTableName, lease: config.leaseMs } }),
      ],
      controllers: [SignupController, StatsController, JobsController, DigestController, RemindersController],
      providers: [
        { provide: configToken, useValue: config },
        Transactions,
        SignupService,
        SignupStatistics,
        DemoMailboxes,
        PostOffice,
        Mailer,
        NightlyDigest,
        Reminders,
        JobTable,
      ],
    };
  }
}
