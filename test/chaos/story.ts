import type { Row } from '../support/queue-rig.js';
import { audit } from './audit/audit.js';
import { everybody, type Entry, type Fact, type Fate, type Kind } from './ledger/fact.js';

/** The numbers of the processes of `worker-1` and `worker-2`. */
export const first = 11;
export const second = 21;
const members = new Map([
  [first, 'worker-1'],
  [second, 'worker-2'],
]);
export const key = 'order';
const id = 'id-of-order';

/** Evidence that is written down line by line, at the moments that matter. */
export class Story {
  private readonly entries: Entry[] = [];
  private readonly rows: Row[] = [];
  private readonly orders = new Set<string>();

  asked(kind: Kind = 'quick', fate: Fate = 'plain'): this {
    return this.note(1, 1, { fact: 'asked', key, kind, fate }).note(2, 1, { fact: 'acked', key, id });
  }

  started(at: number, pid = first, attempt = 1): this {
    return this.note(at, pid, { fact: 'start', run: `${pid}-${at}`, key, id, kind: 'quick', attempt });
  }

  /** The run that started then is over. */
  ended(at: number, startedAt: number, pid = first, end: Partial<Extract<Fact, { fact: 'end' }>> = {}): this {
    const run = `${pid}-${startedAt}`;
    return this.note(at, pid, {
      fact: 'end',
      run,
      key,
      how: 'completed',
      aborted: undefined,
      error: undefined,
      ...end,
    });
  }

  /** So many jobs have completed in a process just before it is killed, and run again in the other one. */
  repeated(jobs: number): this {
    for (let job = 0; job < jobs; job += 1) {
      const of = { key: `order ${job}`, id: `id ${job}`, kind: 'quick' } as const;
      this.note(1, 1, { ...of, fact: 'asked', fate: 'plain' });
      for (const [pid, at] of [
        [first, 10],
        [second, 30],
      ] as const) {
        const run = `${pid} ${job}`;
        this.note(at, pid, { ...of, fact: 'start', run, attempt: 1 });
        this.note(at + 1, pid, {
          fact: 'end',
          run,
          key: of.key,
          how: 'completed',
          aborted: undefined,
          error: undefined,
        });
      }
    }
    return this.killed(20);
  }

  died(at: number, pid = first): this {
    return this.note(at, pid, { fact: 'exit', code: null, signal: 'SIGKILL' });
  }

  killed(at: number, pid = first): this {
    return this.note(at - 1, pid, { fact: 'harm', what: 'kill', ms: -1 }).died(at, pid);
  }

  note(at: number, pid: number, fact: Fact): this {
    const stranger = pid === 0 ? everybody : 'producer-1';
    this.entries.push({ at, pid, member: members.get(pid) ?? stranger, ...fact });
    return this;
  }

  row(given: Partial<Row>): this {
    const payload = JSON.stringify({ key, kind: 'quick', ms: 0 });
    this.rows.push({ id, status: 'failed', attempts: 0, last_error: null, interruptions: 0, payload, ...given } as Row);
    return this;
  }

  order(): this {
    this.orders.add(key);
    return this;
  }

  problems(): readonly string[] {
    const entries = this.entries.toSorted((a, b) => a.at - b.at);
    return audit({ entries, rows: this.rows, orders: this.orders }).map(({ what }) => what);
  }
}

export const story = (): Story => new Story();
