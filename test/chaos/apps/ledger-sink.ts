import type { LoggerService } from '@nestjs/common';
import type { LogSink } from '../../../lib/observe/job-log.js';
import type { Ledger } from '../ledger/ledger.js';

/** What the library says goes into the ledger, so that a job's history has it. */
export function ledgerSink(ledger: Ledger): LogSink & LoggerService {
  const write = (message: unknown): void => ledger.write({ fact: 'log', line: String(message) });
  return { debug: write, log: write, warn: write, error: write };
}
