import { fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from '../terms.js';
import type { Fact } from './fact.js';

/**
 * One process's own file of facts, outside of the queue. Each is written before the process goes on, so that one which is killed
 * leaves what it knew.
 */
export class Ledger {
  private readonly file: number;

  constructor(
    folder: string,
    private readonly member: string,
  ) {
    this.file = openSync(join(folder, `${member}.${process.pid}.ledger`), 'a');
  }

  /** @param seen By whom and when, where that is not this process and now. */
  write(fact: Fact, seen: { readonly at?: number; readonly member?: string; readonly pid?: number } = {}): void {
    const entry = { at: monotonicMs(), member: this.member, pid: process.pid, ...seen, ...fact };
    writeSync(this.file, `${JSON.stringify(entry)}\n`);
  }

  /** For what has been promised to somebody: it must survive even the machine. */
  writeDurably(fact: Fact): void {
    this.write(fact);
    fsyncSync(this.file);
  }
}
