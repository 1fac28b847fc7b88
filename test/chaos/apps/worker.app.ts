/** A process of a chaos run that works jobs, without Nest. */
import { DataSource } from 'typeorm';
import type { JobContext } from '../../../lib/model/job-context.js';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import { queueOptions } from '../terms.js';
import { Deeds } from './deeds.js';
import { boot, openLedger, readDuty, terminated } from './duty.js';
import { ledgerSink } from './ledger-sink.js';
import { OrderDesk, type OrderPayload } from './order-desk.js';

const duty = readDuty();
const ledger = openLedger(duty);
const dataSource = new DataSource(duty.source);

const queue = await boot(ledger, async () => {
  await dataSource.initialize();
  return PersistentJobQueue.create(dataSource, queueOptions, { sink: ledgerSink(ledger) });
});
const deeds = new Deeds(ledger, duty.folder, new OrderDesk(ledger, dataSource, queue));
for (const kind of Deeds.plainKinds) {
  queue.register(`chaos.${kind}`, (order: unknown, job: JobContext) => deeds.run(order as OrderPayload, job));
}
await queue.start();
ledger.write({ fact: 'up' });

await terminated();
ledger.write({ fact: 'stopping' });
await queue.close();
ledger.write({ fact: 'stopped' });
// The app's own connections may be stuck in an outage; that is not what is tested here.
process.exit(0);
