/**
 * A worker for batches that knows the jobs of a batch and not those that follow, so that these stay where they can be counted. `KILL_AT` names the
 * moment at which it kills itself.
 */
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import type { Script } from '../../../lib/stores/typeorm/batches/batch-sql.js';
import {
  TypeOrmBatchStore,
  type TypeOrmBatchStoreParts,
} from '../../../lib/stores/typeorm/batches/typeorm-batch-store.js';

const { DATA_SOURCE = '', TABLE = '', KILL_AT = '' } = process.env;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

/** Dies where a script has said what is to be done, and before that is committed. */
function* dyingScript<T>(script: Script<T>): Script<T> {
  let turn = script.next();
  while (turn.done !== true) {
    const isLast = 'write' in turn.value;
    const answer = yield turn.value;
    if (isLast) die();
    turn = script.next(answer);
  }
  return turn.value;
}

const original = { ...Object.getOwnPropertyDescriptors(TypeOrmBatchStore.prototype) };

function dieBefore(verb: 'idle' | 'release' | 'close'): void {
  Object.defineProperty(TypeOrmBatchStore.prototype, verb, { ...original[verb], value: die });
}

function dieInside(): void {
  const advance = original.advance.value as TypeOrmBatchStore['advance'];
  Object.defineProperty(TypeOrmBatchStore.prototype, 'advance', {
    ...original.advance,
    value(this: TypeOrmBatchStore, id: string) {
      const parts = Reflect.get(this, 'parts') as TypeOrmBatchStoreParts;
      const { scripts } = parts;
      const dying = Object.create(scripts, {
        transaction: {
          value: (lane: 'plain', make: () => Script<never>) => scripts.transaction(lane, () => dyingScript(make())),
        },
      }) as typeof scripts;
      Reflect.set(this, 'parts', { ...parts, scripts: dying });
      return advance.call(this, id);
    },
  });
}

if (KILL_AT === 'advance') dieInside();
if (KILL_AT === 'idle' || KILL_AT === 'release' || KILL_AT === 'close') dieBefore(KILL_AT);

const dataSource = await new DataSource(JSON.parse(DATA_SOURCE) as DataSourceOptions).initialize();
const queue = await PersistentJobQueue.create(dataSource, {
  tableName: TABLE,
  pollInterval: 20,
  lease: 3_000,
  maxRetries: 0,
  maxInterruptions: 100,
});
queue.register('work', () => undefined);
queue.register('bad', () => {
  throw new Error('boom');
});
await queue.start(2);
console.log('ready');
