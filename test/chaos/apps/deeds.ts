import type { JobContext } from '../../../lib/model/job-context.js';
import { JobAbortedError } from '../../../lib/model/errors.js';
import { monotonicMs } from '../terms.js';
import type { Kind } from '../ledger/fact.js';
import type { Ledger } from '../ledger/ledger.js';
import { leaveMark } from './duty.js';
import type { OrderDesk, OrderPayload } from './order-desk.js';

type Deed = (order: OrderPayload, job: JobContext, run: string) => Promise<void> | void;

/** How often a flaky job fails. */
const flakyFailures = 2;

/** What the jobs of a chaos run do, each run written down at its start and its end. */
export class Deeds {
  private runs = 0;

  constructor(
    private readonly ledger: Ledger,
    private readonly folder: string,
    private readonly desk: OrderDesk,
  ) {}

  /** The kinds that any process can run; jobs of kind `timeout` need a handler with an option. */
  static readonly plainKinds: readonly Kind[] = [
    'quick',
    'slow',
    'polite',
    'flaky',
    'doomed',
    'blocking',
    'parent',
    'widow',
    'unlucky',
    'suicide',
  ];

  /** The handler of all kinds. */
  async run(order: OrderPayload, job: JobContext): Promise<void> {
    const { key, kind } = order;
    const run = `${process.pid}-${++this.runs}`;
    this.ledger.write({ fact: 'start', run, key, id: job.id, kind, attempt: job.attempt });
    try {
      await this.deeds[kind](order, job, run);
      this.ledger.write({ fact: 'end', run, key, how: 'completed', aborted: causeOf(job), error: undefined });
    } catch (error) {
      this.ledger.write({ fact: 'end', run, key, how: 'threw', aborted: causeOf(job), error: String(error) });
      throw error;
    }
  }

  private readonly deeds: Readonly<Record<Kind, Deed>> = {
    quick: () => undefined,
    slow: ({ ms }) => sleep(ms),
    polite: ({ ms }, { signal }) => sleep(ms, signal),
    flaky: ({ key }, { attempt }) => {
      if (attempt <= flakyFailures) throw new Error(`${key} fails ${attempt}`);
    },
    doomed: ({ key }) => {
      throw new Error(`${key} always fails`);
    },
    blocking: ({ ms }) => {
      const end = monotonicMs() + ms;
      while (monotonicMs() < end);
    },
    timeout: (_order, { signal }) => sleep(60_000, signal),
    parent: ({ key, ms }, _job, run) => this.desk.place(childOf(key, ms, run), 'commit'),
    widow: ({ key, ms }, _job, run) => this.desk.place(childOf(key, ms, run), 'rollback'),
    unlucky: ({ key }) => {
      if (leaveMark(this.folder, key)) this.die(key);
    },
    suicide: ({ key }) => this.die(key),
  };

  private die(key: string): void {
    this.ledger.write({ fact: 'suicide', key });
    process.kill(process.pid, 'SIGKILL');
    // The signal may take a moment; nothing else must happen in it.
    for (;;);
  }
}

function childOf(key: string, ms: number, run: string) {
  return { key: `${key}+${run}`, kind: 'quick', ms } as const;
}

function causeOf({ signal }: JobContext): string | undefined {
  const reason: unknown = signal.aborted ? signal.reason : undefined;
  return reason instanceof JobAbortedError ? reason.reason : undefined;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new Error('told to end'));
    });
  });
}
