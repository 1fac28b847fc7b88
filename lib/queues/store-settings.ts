import { systemClock, type Clock } from '../model/clock.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import type { LogSink } from '../observe/job-log.js';

/** What the options say to the store. */
export function storeSettings(options: ResolvedPersistentOptions, sink: LogSink, clock: Clock = systemClock) {
  const { tableName, schema, transactionWait, connections, notify } = options;
  const warn = (message: string): void => sink.warn(message);
  return { tableName, schema, transactionWaitMs: transactionWait, connections, notify, clock, warn };
}
