/** Run by cls-transactional.spec.ts: enqueues within `@Transactional()` of @nestjs-cls/transactional, and says which jobs ran. */
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsModule } from 'nestjs-cls';
import { JobHandler, JobsModule, PersistentJobQueue } from 'nestjs-jobs';
import { until } from '../../support/until.js';

const dataSource = JSON.parse(process.env['DATA_SOURCE'] ?? '') as TypeOrmModuleOptions;
const ran: string[] = [];

@Injectable()
class Signup {
  constructor(private readonly jobs: PersistentJobQueue) {}

  @Transactional()
  async run(end: 'commit' | 'roll back'): Promise<void> {
    await this.jobs.enqueue('welcome', end);
    if (end === 'roll back') throw new Error('rolled back');
  }

  @JobHandler('welcome')
  welcome(payload: string): void {
    ran.push(payload);
  }
}

const typeOrm = TypeOrmModule.forRoot(dataSource);
const adapter = new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() });

@Module({
  imports: [
    typeOrm,
    ClsModule.forRoot({ global: true, plugins: [new ClsPluginTransactional({ imports: [typeOrm], adapter })] }),
    JobsModule.forRootAsync({
      inject: [TransactionHost],
      useFactory: (host: TransactionHost<TransactionalAdapterTypeOrm>) => ({
        persistent: { transaction: () => host.tx },
      }),
    }),
  ],
  providers: [Signup],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const signup = app.get(Signup);
await signup.run('roll back').catch((error: unknown) => console.log(String(error)));
await signup.run('commit');
await app.get(PersistentJobQueue).enqueue('welcome', 'alone');
await until(() => ran.length === 2);
console.log(ran.toSorted().join());
await app.close();
