import 'reflect-metadata';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PersistentJobQueue } from 'nestjs-jobs';
import { AppModule } from './app.module.js';
import { readConfig, type Config } from './config.js';
import { JobTable } from './jobs/job-table.js';
import { listenOnFreePort } from './listen.js';
import { QuietLogger } from './quiet-logger.js';
import { Client } from './tour/client.js';
import { describeNextSteps } from './tour/next-steps.js';
import { Tour } from './tour/tour.js';

/** `--once` takes the tour and exits; `--serve` leaves the tour out. */
async function main(args: readonly string[]): Promise<void> {
  const config = readConfig(process.env);
  const app = await NestFactory.create(AppModule.with(config), { logger: new QuietLogger() });
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  const leftovers = await findLeftovers(app);
  const url = await listenOnFreePort(app, config.port);
  console.log(`\nThe sample app listens on ${url} (process ${process.pid}), ${placesOf(config)}.`);
  if (!args.includes('--serve')) await takeTour(config, url, leftovers);
  if (args.includes('--once')) await app.close();
  else console.log(describeNextSteps(url));
}

/** Asked before the app starts its workers: afterwards they may be done already. */
async function findLeftovers(app: INestApplication): Promise<readonly string[]> {
  await app.get(PersistentJobQueue).open();
  const rows = await app.get(JobTable).list(1_000);
  return rows.filter(({ status }) => status !== 'failed').map(({ id }) => id);
}

async function takeTour(config: Config, url: string, leftovers: readonly string[]): Promise<void> {
  const outbox = config.smtpUrl === undefined ? config.outboxFolder : undefined;
  const patienceMs = 30_000 + 2 * (config.slowMs + config.leaseMs);
  const problems = await new Tour({ client: new Client(url), outbox, leftovers, patienceMs }).run();
  if (problems.length > 0) process.exitCode = 1;
  console.log(problems.length === 0 ? '\nAll as it should be.' : `\nNot as it should be:\n  ${problems.join('\n  ')}`);
}

function placesOf({ databaseUrl, dataFolder, smtpUrl, outboxFolder }: Config): string {
  const database = databaseUrl === undefined ? `SQLite in ${dataFolder}` : databaseUrl.split(':', 1)[0];
  return `jobs in ${database}, mails to ${smtpUrl === undefined ? outboxFolder : 'the mail server'}`;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
