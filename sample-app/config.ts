import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the environment says, checked once. Durations are milliseconds. */
export interface Config {
  readonly port: number;
  /** `postgres://`, `mysql://` or `mariadb://`; without one a SQLite file in `dataFolder`. */
  readonly databaseUrl: string | undefined;
  readonly dataFolder: string;
  readonly outboxFolder: string;
  /** `smtp://` of a mail server; without one mails become files in `outboxFolder`. */
  readonly smtpUrl: string | undefined;
  /** How long a mail to `…@slow.example` takes. */
  readonly slowMs: number;
  /** See the option `lease` of the persistent queue. */
  readonly leaseMs: number;
}

/** The injection token of the `Config`. */
export const configToken = Symbol('Config');

const here = dirname(fileURLToPath(import.meta.url));
const home = basename(here) === 'dist' ? dirname(here) : here;

/** @throws Error when a variable is not what it should be. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    port: readNumber(env, 'PORT', 3000),
    databaseUrl: readText(env, 'DATABASE_URL'),
    dataFolder: readText(env, 'SAMPLE_DATA') ?? join(home, 'data'),
    outboxFolder: readText(env, 'SAMPLE_OUTBOX') ?? join(home, 'outbox'),
    smtpUrl: readText(env, 'SMTP_URL'),
    slowMs: readNumber(env, 'SLOW', 2_000),
    // Far below the default of 30 s: whoever kills the process wants to see soon how the next one carries on. On Linux it does
    // so at once, elsewhere when the lease has ended.
    leaseMs: readNumber(env, 'LEASE', 5_000),
  };
}

function readText(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function readNumber(env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const text = readText(env, name);
  if (text === undefined) return fallback;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number, got '${text}'`);
  return Number(text);
}
