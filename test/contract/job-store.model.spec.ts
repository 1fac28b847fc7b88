import fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { systemClock } from '../../lib/model/clock.js';
import { controllable, mayBecome, type JobState, type NextState } from '../../lib/model/job-state.js';
import type { ClaimedJob } from '../../lib/model/job.js';
import type { Outcome } from '../../lib/model/outcome.js';
import type { AdministeredStore, LostLease } from '../../lib/stores/job-store.js';
import { openTypeOrmStore } from '../../lib/stores/open-typeorm-store.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';

/**
 * Random sequences of enqueue, claim, heartbeat, crash, expiry, recovery, disowning, settling, cancelling, retrying and deleting against a model of a few
 * lines. After each command the table must equal the model, and every change of a row's state must be a legal one.
 */

const maxInterruptions = 3;
const leaseMs = 600_000;
const owners = ['ada', 'bob'] as const;
type Owner = (typeof owners)[number];

/** A job as it should stand in the table. */
interface ModelJob {
  state: JobState;
  attempts: number;
  readonly maxRetries: number;
  interruptions: number;
  owner: Owner | undefined;
  isExpired: boolean;
  isDue: boolean;
}

class Model {
  readonly jobs = new Map<string, ModelJob>();

  due(): string[] {
    return [...this.jobs].filter(([, job]) => job.state === 'pending' && job.isDue).map(([id]) => id);
  }
}

/** A claim as its worker remembers it, whether it still stands or not. */
interface Held {
  readonly owner: Owner;
  readonly job: ClaimedJob;
}

interface Real {
  readonly store: AdministeredStore;
  readonly rig: QueueRig;
  held: Held[];
  /** The tokens that stand in the table, by job. */
  readonly tokens: Map<string, string>;
}

type Step = fc.AsyncCommand<Model, Real>;

function step(name: string, run: (model: Model, real: Real) => Promise<void>): Step {
  return {
    check: () => true,
    run: async (model, real) => {
      const before = new Map([...model.jobs].map(([id, { state }]) => [id, state]));
      await run(model, real);
      expectLegal(before, model);
      await expectEqual(model, real);
    },
    toString: () => name,
  };
}

function expectLegal(before: ReadonlyMap<string, JobState>, model: Model): void {
  for (const [id, from] of before) {
    const to: NextState = model.jobs.get(id)?.state ?? 'gone';
    if (from !== to && !mayBecome(from, to)) throw new Error(`${from} became ${to}`);
  }
}

async function expectEqual(model: Model, { rig }: Real): Promise<void> {
  const rows = await rig.rows();
  const found = rows.map((row) => ({
    id: row.id,
    state: row.status,
    attempts: row.attempts,
    interruptions: row.interruptions,
    owner: row.claimed_by ?? undefined,
    hasToken: row.claim_token !== null,
    hasLease: row.lease_until !== null,
  }));
  const expected = [...model.jobs].map(([id, job]) => ({
    id,
    state: job.state,
    attempts: job.attempts,
    interruptions: job.interruptions,
    owner: job.owner,
    hasToken: job.owner !== undefined,
    hasLease: job.state === 'running',
  }));
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  expect(found.toSorted(byId)).toEqual(expected.toSorted(byId));
}

const insert = (maxRetries: number, isDue: boolean): Step =>
  step(`insert(${maxRetries}, ${isDue})`, async (model, { store }) => {
    const id = uuidv7();
    await store.insert([{ id, type: 'work', payload: '', maxRetries, delayMs: isDue ? 0 : 3_600_000 }]);
    model.jobs.set(id, {
      state: 'pending',
      attempts: 0,
      maxRetries,
      interruptions: 0,
      owner: undefined,
      isExpired: false,
      isDue,
    });
  });

const claim = (owner: Owner, limit: number): Step =>
  step(`claim(${owner}, ${limit})`, async (model, real) => {
    const due = model.due();
    const { claimed, lost } = await real.store.exchange({
      settle: [],
      claim: { types: ['work'], limit, owner, leaseMs },
    });
    expect(lost).toEqual([]);
    expect(claimed).toHaveLength(Math.min(limit, due.length));
    for (const job of claimed) {
      expect(due).toContain(job.id);
      expect([...real.tokens.values()]).not.toContain(job.token);
      real.tokens.set(job.id, job.token);
      real.held.push({ owner, job });
      Object.assign(model.jobs.get(job.id) ?? {}, { state: 'running', owner, isExpired: false });
    }
  });

const isStanding = (model: Model, real: Real, { job, owner }: Held): boolean =>
  real.tokens.get(job.id) === job.token && model.jobs.get(job.id)?.owner === owner;

/** What a store says of a claim that stands no more. */
function asLost(model: Model, { id, token }: ClaimedJob): LostLease {
  return model.jobs.get(id)?.state === 'cancelled' ? { id, token, isCancelled: true } : { id, token };
}

function byToken(a: LostLease, b: LostLease): number {
  return a.token < b.token ? -1 : 1;
}

const heartbeat = (owner: Owner): Step =>
  step(`heartbeat(${owner})`, async (model, real) => {
    const mine = real.held.filter((held) => held.owner === owner);
    if (mine.length === 0) return;
    const lost = await real.store.extend(
      mine.map(({ job }) => job),
      leaseMs,
    );
    const expected = mine.filter((held) => !isStanding(model, real, held)).map(({ job }) => asLost(model, job));
    expect(lost.toSorted(byToken)).toEqual(expected.toSorted(byToken));
    for (const held of mine.filter((one) => isStanding(model, real, one))) {
      Object.assign(model.jobs.get(held.job.id) ?? {}, { isExpired: false });
    }
  });

const crash = (owner: Owner): Step =>
  step(`crash(${owner})`, async (_model, real) => {
    real.held = real.held.filter((held) => held.owner !== owner);
    await Promise.resolve();
  });

const expire = (): Step =>
  step('expire', async (model, { rig }) => {
    await rig.set('lease_until = 1', "status = 'running'");
    for (const job of model.jobs.values()) if (job.state === 'running') job.isExpired = true;
  });

const recover = (owner: Owner): Step =>
  step(`recover(${owner})`, async (model, { store }) => {
    const recovered = await store.recover({ owner, maxInterruptions, backoffMs: 0, limit: 100 });
    const expected = [...model.jobs].filter(
      ([, job]) => job.isExpired && job.state === 'running' && job.owner !== owner,
    );
    expect(recovered.map(({ id }) => id).toSorted()).toEqual(expected.map(([id]) => id).toSorted());
    for (const [, job] of expected) {
      if (job.owner !== undefined) job.interruptions += 1;
      job.state = job.interruptions >= maxInterruptions ? 'failed' : 'pending';
      job.owner = undefined;
      job.isExpired = false;
    }
  });

const disown = (owner: Owner): Step =>
  step(`disown(${owner})`, async (model, real) => {
    const mine = real.held.filter((held) => held.owner === owner);
    const kept = new Set(mine.filter((held) => isStanding(model, real, held)).map(({ job }) => job.id));
    const expected = [...model.jobs].filter(([id, job]) => job.owner === owner && !kept.has(id));
    const count = await real.store.disown(
      owner,
      mine.map(({ job }) => job),
    );
    expect(count).toBe(expected.length);
    for (const [, job] of expected) Object.assign(job, { state: 'pending', owner: undefined, isExpired: false });
  });

const settle = (index: number, outcome: Outcome): Step =>
  step(`settle(${index}, ${outcome.kind})`, async (model, real) => {
    const held = real.held[index % Math.max(1, real.held.length)];
    if (held === undefined) return;
    const isMine = isStanding(model, real, held);
    const { id, token } = held.job;
    const { lost } = await real.store.exchange({ settle: [{ id, token, outcome }], claim: undefined });
    expect(lost).toEqual(isMine ? [] : [asLost(model, held.job)]);
    real.held = real.held.filter((one) => one !== held);
    const job = model.jobs.get(id);
    if (isMine && job !== undefined) apply(model, id, job, outcome);
  });

/** The job at this place, if it is in one of these states. */
function controlled(model: Model, index: number, from: readonly JobState[]) {
  const [id, job] = [...model.jobs][index % Math.max(1, model.jobs.size)] ?? [];
  if (id === undefined || job === undefined) return undefined;
  const expected = from.includes(job.state) ? [expect.objectContaining({ id, from: job.state })] : [];
  return { id, job, expected, isLegal: expected.length > 0 };
}

const cancel = (index: number): Step =>
  step(`cancel(${index})`, async (model, { store, tokens }) => {
    const found = controlled(model, index, controllable.cancel);
    if (found === undefined) return;
    const { id, job, expected, isLegal } = found;
    const token = job.state === 'running' && job.owner !== undefined ? tokens.get(id) : undefined;
    const cancelled = await store.queries.cancel([id], controllable.cancel);
    expect(cancelled).toEqual(expected);
    expect(cancelled.map(({ claim: ended }) => ended?.token)).toEqual(isLegal ? [token] : []);
    if (isLegal) Object.assign(job, { state: 'cancelled', owner: undefined, isExpired: false });
  });

const retry = (index: number): Step =>
  step(`retry(${index})`, async (model, { store }) => {
    const found = controlled(model, index, controllable.retry);
    if (found === undefined) return;
    expect(await store.queries.retry([found.id], controllable.retry)).toEqual(found.expected);
    if (found.isLegal) Object.assign(found.job, { state: 'pending', attempts: 0, interruptions: 0, isDue: true });
  });

const remove = (index: number): Step =>
  step(`delete(${index})`, async (model, { store }) => {
    const found = controlled(model, index, controllable.delete);
    if (found === undefined) return;
    expect(await store.queries.remove([found.id], controllable.delete)).toEqual(found.expected);
    if (found.isLegal) model.jobs.delete(found.id);
  });

function apply(model: Model, id: string, job: ModelJob, outcome: Outcome): void {
  job.owner = undefined;
  switch (outcome.kind) {
    case 'completed':
      if (outcome.keep === undefined) model.jobs.delete(id);
      else Object.assign(job, { state: 'completed', isExpired: false });
      return;
    case 'snoozed':
      Object.assign(job, { state: 'pending', isExpired: false, isDue: outcome.delayMs === 0 });
      return;
    case 'retried':
      Object.assign(job, {
        state: 'pending',
        attempts: job.attempts + 1,
        isExpired: false,
        isDue: outcome.delayMs === 0,
      });
      return;
    case 'expired':
      Object.assign(job, { state: 'failed', isExpired: false });
      return;
    case 'failed':
      Object.assign(job, { state: 'failed', attempts: job.attempts + 1, isExpired: false });
      return;
    case 'released':
      Object.assign(job, { state: 'pending', isExpired: false });
      return;
    case 'abandoned':
      return;
  }
}

const outcomes: readonly Outcome[] = [
  { kind: 'completed' },
  { kind: 'completed', keep: { keepMs: 3_600_000, result: '1' } },
  { kind: 'snoozed', delayMs: 3_600_000, reason: 'later' },
  { kind: 'retried', delayMs: 0, error: 'boom' },
  { kind: 'retried', delayMs: 3_600_000, error: 'boom' },
  { kind: 'failed', error: 'boom' },
  { kind: 'expired' },
  { kind: 'released', delayMs: 0 },
  { kind: 'abandoned' },
];

const anyOwner = fc.constantFrom(...owners);
const anyInsert = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(true, true, true, false));
const anyClaim = fc.tuple(anyOwner, fc.integer({ min: 1, max: 3 }));
const anySettle = fc.tuple(fc.nat(20), fc.constantFrom(...outcomes));

/** Drawn as often as they stand here: most sequences should come to claims that are lost while they are still held. */
const commands = fc.commands<Model, Real, false>(
  [
    ...times(3, () => anyInsert.map(([retries, isDue]) => insert(retries, isDue))),
    ...times(4, () => anyClaim.map(([owner, limit]) => claim(owner, limit))),
    ...times(4, () => anySettle.map(([index, outcome]) => settle(index, outcome))),
    ...times(2, () => fc.constant(null).map(expire)),
    ...times(2, () => anyOwner.map(recover)),
    anyOwner.map(heartbeat),
    anyOwner.map(crash),
    anyOwner.map(disown),
    ...times(2, () => fc.nat(20).map(cancel)),
    ...times(2, () => fc.nat(20).map(retry)),
    fc.nat(20).map(remove),
  ],
  { maxCommands: 80, size: 'max' },
);

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

forEachDatabase((database) => {
  describe('the store, whatever happens in whatever order', () => {
    let dataSource: DataSource;
    let store: AdministeredStore;

    beforeAll(async () => {
      dataSource = await database.connect();
      store = await openTypeOrmStore(dataSource, {
        tableName: 'rws_jobs',
        schema: 'auto',
        transactionWaitMs: 5_000,
        connections: 2,
        notify: false,
        clock: systemClock,
        warn: () => undefined,
      });
      await store.open();
    });

    afterAll(async () => {
      await store.close();
      await database.empty();
    });

    it('holds what the model holds, by legal transitions only', async () => {
      const rig = new QueueRig(dataSource);

      await fc.assert(
        fc.asyncProperty(commands, async (sequence) => {
          await dataSource.query('DELETE FROM rws_jobs');
          const real: Real = { store, rig, held: [], tokens: new Map() };
          await fc.asyncModelRun(() => ({ model: new Model(), real }), sequence);
        }),
        { numRuns: database.isSqlite ? 120 : 35 },
      );
    }, 120_000);
  });
});
