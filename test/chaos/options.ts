import { parseArgs } from 'node:util';
import { chaosDatabases, type ChaosDatabase } from './servers/open-server.js';

export interface ChaosOptions {
  readonly seed: number;
  /** How long harm is done, milliseconds. */
  readonly durationMs: number;
  readonly workers: number;
  readonly producers: number;
}

export interface ChaosCommand {
  readonly databases: readonly ChaosDatabase[];
  readonly options: ChaosOptions;
  /** Where the ledgers go and stay; a run without it keeps them only where it failed. */
  readonly keep: boolean;
}

export const usage =
  'npm run chaos -- [--db postgres|mysql|sqlite|all] [--minutes 2] [--seed 7] [--workers 3] [--producers 2] [--keep]';

/** @throws Error that says what is wrong */
export function readCommand(args: readonly string[]): ChaosCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      db: { type: 'string', default: 'all' },
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '3' },
      producers: { type: 'string', default: '2' },
      keep: { type: 'boolean', default: false },
    },
  });
  return {
    databases: readDatabases(values.db),
    options: {
      seed: readNumber('seed', values.seed, 0),
      durationMs: readNumber('minutes', values.minutes, 0.05) * 60_000,
      workers: readNumber('workers', values.workers, 1),
      producers: readNumber('producers', values.producers, 1),
    },
    keep: values.keep,
  };
}

function readDatabases(text: string): readonly ChaosDatabase[] {
  if (text === 'all') return chaosDatabases;
  return text.split(',').map((name) => {
    const known = chaosDatabases.find((database) => database === name);
    if (known === undefined) throw new Error(`--db must be of ${chaosDatabases.join(', ')} or all, got ${name}`);
    return known;
  });
}

function readNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text === '' || !(value >= least))
    throw new Error(`--${option} must be a number of at least ${least}, got ${text}`);
  return value;
}
