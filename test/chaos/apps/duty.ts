import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataSourceOptions } from 'typeorm';
import { Ledger } from '../ledger/ledger.js';
import { monotonicMs } from '../terms.js';

/** What a child process is told by the one that started it. */
export interface Duty {
  readonly member: string;
  /** Where ledgers and marks are. */
  readonly folder: string;
  readonly seed: string;
  readonly source: DataSourceOptions;
}

/** Ends a process that could not start. */
const bootFailed = 3;
const crashed = 70;
const lagLookMs = 50;

export function readDuty(): Duty {
  return JSON.parse(process.env['CHAOS_DUTY'] ?? '') as Duty;
}

/** Opens the ledger of this process, and has it note what must not happen: errors that nobody catches, warnings of Node, and a loop that stands still. */
export function openLedger({ folder, member }: Duty): Ledger {
  const ledger = new Ledger(folder, member);
  process.on('uncaughtException', (error, origin) => {
    ledger.write({ fact: 'crash', error: `${origin}: ${error.stack ?? String(error)}` });
    process.exit(crashed);
  });
  process.on('warning', (warning) => ledger.write({ fact: 'warning', text: warning.stack ?? String(warning) }));
  noteLags(ledger);
  return ledger;
}

/** Runs what brings the process up. Without its database it ends, as an app would, and is started again. */
export async function boot<T>(ledger: Ledger, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    ledger.write({ fact: 'boot failed', error: String(error) });
    return process.exit(bootFailed);
  }
}

export function noteLags(ledger: Ledger): void {
  let before = monotonicMs();
  const look = (): void => {
    const now = monotonicMs();
    const ms = now - before - lagLookMs;
    if (ms > 250) ledger.write({ fact: 'lag', ms });
    before = now;
  };
  setInterval(look, lagLookMs).unref();
}

/** Resolves at the first SIGTERM. */
export function terminated(): Promise<void> {
  return new Promise((resolve) => process.once('SIGTERM', () => resolve()));
}

/** Whether nobody has left this mark before. */
export function leaveMark(folder: string, name: string): boolean {
  try {
    writeFileSync(join(folder, `${name}.mark`), '', { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}
