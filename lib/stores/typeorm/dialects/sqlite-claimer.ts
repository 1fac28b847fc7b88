import { randomBytes } from 'node:crypto';
import type { ClaimedJob } from '../../../model/job.js';
import type { ClaimRequest } from '../../job-store.js';
import { PayloadRoom } from '../../payload-room.js';
import { toClaimedJob, toText, type Row } from '../job-row.js';
import { capOf, isInScope, isPaused, toStream, type Stream } from '../streams.js';
import type { SqliteStatements } from './sqlite-statements.js';

const unlimited = Number.MAX_SAFE_INTEGER;

/** A job that may be claimed. What it carries is read when it is. */
export interface DueJob {
  /** Its row. */
  readonly place: number;
  readonly priority: number;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  readonly id: string;
  readonly key: string | undefined;
  /** Of its payload. */
  readonly characters: number;
}

type LookName = 'due' | 'dueKeyless' | 'dueKeys';

/** What a look for due jobs keeps to: the moment and the interruptions, and how many. */
interface Look extends Pick<ClaimRequest, 'caps' | 'limit' | 'room' | 'isFurther'> {
  readonly name: LookName;
  readonly bounds: readonly number[];
}

/** Claims on one connection, synchronous; whoever calls them sees to the transaction. First the places of due jobs are found, then these are marked and read, all at once. */
export class SqliteClaimer {
  constructor(private readonly statements: SqliteStatements) {}

  /** Due jobs, of the lowest priority first, then the oldest: as many as there is room for. */
  due(request: ClaimRequest, now: number): readonly DueJob[] {
    return this.lookFor(request, now, request.keys === 'none' ? 'dueKeyless' : 'due');
  }

  /** The same jobs, whatever room there is; how long their payloads are is not looked at. */
  dueKeys(request: ClaimRequest, now: number): readonly DueJob[] {
    return this.lookFor({ ...request, room: undefined }, now, 'dueKeys');
  }

  /** Marks what was found in the same transaction, and says of it in that order. */
  claim(found: readonly Pick<DueJob, 'place'>[], request: ClaimRequest, now: number): readonly ClaimedJob[] {
    if (found.length === 0) return [];
    const nonce = `${randomBytes(16).toString('hex')}:`;
    const places = JSON.stringify(found.map(({ place }) => place));
    const claimed = new Map<unknown, ClaimedJob>();
    const { owner, leaseMs } = request;
    for (const values of this.statements.values('claim').all(nonce, owner, now + leaseMs, places)) {
      const row = toRow(values);
      claimed.set(values[0], toClaimedJob(row, { token: `${nonce}${toText(row['id'])}`, now }));
    }
    return found.map(({ place }) => claimed.get(place)).filter((job) => job !== undefined);
  }

  pendingTypes(): readonly string[] {
    return this.statements
      .get('pendingTypes')
      .all()
      .map((row) => toText(row['job_type']));
  }

  private lookFor(request: ClaimRequest, now: number, name: LookName): readonly DueJob[] {
    const { types = this.pendingTypes(), queues, caps, mostInterruptions = unlimited } = request;
    const found = types
      .flatMap((type) => this.streamsOf(type))
      .filter(({ type, queue }) => isInScope(queue, queues) && capOf(caps, type) !== 0);
    const streams = this.withoutPaused(found);
    const { limit, room, isFurther } = request;
    return this.merged(streams, { bounds: [now, mostInterruptions], caps, limit, room, isFurther, name });
  }

  /** An idle process, which finds no stream, does not even look at the pauses. */
  private withoutPaused(streams: readonly Stream[]): readonly Stream[] {
    if (streams.length === 0) return streams;
    const paused = new Set(
      this.statements
        .get('pauses')
        .all()
        .map((row) => row['slot']),
    );
    return streams.filter((stream) => !isPaused(stream, paused));
  }

  /** One step in the index for each stream. */
  private streamsOf(type: string): readonly Stream[] {
    const streams: Stream[] = [];
    for (let row = this.statements.get('firstStream').get(type); row !== undefined;) {
      const stream = toStream(row);
      streams.push(stream);
      const { queue, priority } = stream;
      row = this.statements.get('nextStream').get(type, queue, priority, type, queue);
    }
    return streams;
  }

  /** Merges the cursors of all streams, so that no more rows are read than are wanted and than there is room for, and one more of each stream. */
  private merged(streams: readonly Stream[], look: Look): readonly DueJob[] {
    const { bounds, caps, limit, name } = look;
    // All of them first: what keeps one from being prepared must leave no cursor open, which would block the connection for ever.
    const looks = streams.map((stream, index) => ({ stream, statement: this.statements.values(name, index) }));
    const cursors = looks.map(({ stream: { type, queue, priority }, statement }) =>
      statement.iterate(type, queue, priority, ...bounds, Math.min(limit, capOf(caps, type) ?? limit)),
    );
    try {
      return mergeByDue(cursors, look);
    } finally {
      for (const cursor of cursors) cursor.return?.();
    }
  }
}

type Values = readonly unknown[];

function mergeByDue(cursors: readonly Iterator<Values>[], look: Look): readonly DueJob[] {
  const room = new PayloadRoom(look);
  const heads = cursors.map((cursor) => ({ cursor, job: nextOf(cursor) }));
  const merged: DueJob[] = [];
  while (merged.length < look.limit) {
    let first: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.job !== undefined && (first?.job === undefined || isBefore(head.job, first.job))) first = head;
    }
    if (first?.job === undefined || !room.takes(first.job.characters)) break;
    merged.push(first.job);
    first.job = nextOf(first.cursor);
  }
  return merged;
}

function nextOf(cursor: Iterator<Values>): DueJob | undefined {
  const next = cursor.next();
  if (next.done === true) return undefined;
  const [place, priority, dueAt, id, key, characters] = next.value as readonly [
    number,
    number,
    number,
    string,
    unknown,
    number,
  ];
  return { place, priority, dueAt, id, key: typeof key === 'string' ? key : undefined, characters };
}

function isBefore(a: DueJob, b: DueJob): boolean {
  const difference = a.priority - b.priority || a.dueAt - b.dueAt;
  return difference === 0 ? a.id < b.id : difference < 0;
}

/** What the statement `claim` says of a job. */
function toRow([, dueAt, rare, id, type, payload, attempts, maxRetries, interruptions, createdAt]: Values): Row {
  const row = {
    id,
    job_type: type,
    payload,
    attempts,
    max_retries: maxRetries,
    interruptions,
    created_at: createdAt,
    next_run_at: dueAt,
  };
  return typeof rare === 'string' ? { ...row, ...(JSON.parse(rare) as Row) } : row;
}
