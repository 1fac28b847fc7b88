import { everybody, type Entry, type Harm } from '../ledger/fact.js';
import { terms } from '../terms.js';
import { entriesOf, type EntryOf } from './evidence.js';

/** A time in which a process could not do its work. */
export interface Disturbance {
  readonly from: number;
  /** `Infinity` for a dead process. */
  readonly to: number;
}

/** The member whose ledger is that of the run itself; where it stands still, so do all proxies. */
export const harness = 'harness';

/** What keeps a process from its database. The rest of the harm ends it, which its exit tells. */
const lasting: readonly Harm[] = ['stop', 'cut', 'deafen', 'stall', 'refuse', 'freeze', 'restart', 'crash', 'lock'];

/** A heartbeat comes three times in a lease: two disturbances closer than this may swallow what lies between them. */
const closeMs = terms.leaseMs / 3;
/** What is shorter cannot end a lease that was renewed a third of its length ago. */
const endsLeaseMs = terms.leaseMs / 2;
/** How long after the end of a run its outcome is stored when nothing is in the way, with a wide margin for a busy machine. */
const settleMs = 2_000;
/** The longest pause of a worker after an outage. */
const afterOutageMs = 6_000;

/** For each process, when it could not do its work. */
export class Disturbances {
  private readonly known = new Map<number, readonly Disturbance[]>();

  constructor(private readonly entries: readonly Entry[]) {}

  /**
   * Whether this process may have lost a claim that it held from `from` on: it died, or was cut off for so long that a lease
   * may have ended.
   *
   * @param endedAt When the run was over; the claim is held until its outcome is stored. `undefined` for a run without an end.
   * @param until When the next run began.
   */
  mayHaveLost(pid: number, from: number, endedAt: number | undefined, until: number): boolean {
    const disturbances = this.of(pid);
    const end = Math.min(until, endedAt === undefined ? Infinity : settledBy(disturbances, endedAt));
    return disturbances.some((one) => one.from <= end && one.to >= from && one.to - one.from >= endsLeaseMs);
  }

  /** Whether this process was disturbed at all in this time. */
  any(pid: number, from: number, to: number): boolean {
    return this.of(pid).some((one) => one.from <= to && one.to >= from);
  }

  private of(pid: number): readonly Disturbance[] {
    const known = this.known.get(pid);
    if (known !== undefined) return known;
    const found = merge(this.find(pid));
    this.known.set(pid, found);
    return found;
  }

  private endOf(run: string): number {
    return entriesOf(this.entries, 'end').find((entry) => entry.run === run)?.at ?? Infinity;
  }

  private find(pid: number): readonly Disturbance[] {
    const member = this.entries.find((entry) => entry.pid === pid)?.member;
    const isMine = (entry: EntryOf<'harm'>): boolean =>
      entry.member === everybody || (entry.what === 'stop' ? entry.pid === pid : entry.member === member);
    return [
      ...entriesOf(this.entries, 'harm')
        .filter((entry) => lasting.includes(entry.what) && isMine(entry))
        .map(({ at, ms }) => ({ from: at, to: at + ms })),
      ...entriesOf(this.entries, 'lag')
        .filter((entry) => entry.pid === pid || entry.member === harness)
        .map(({ at, ms }) => ({ from: at - ms, to: at })),
      // It holds up all else in its process, and who dies meanwhile says nothing of a lag.
      ...entriesOf(this.entries, 'start')
        .filter((entry) => entry.pid === pid && entry.kind === 'blocking')
        .map(({ at, run }) => ({ from: at, to: this.endOf(run) })),
      ...this.entries
        .filter((entry) => entry.pid === pid && isDeath(entry))
        .map(({ at }) => ({ from: at, to: Infinity })),
    ];
  }
}

/** What ends a process. On a busy machine its exit is noticed later than others take its jobs back. */
function isDeath(entry: Entry): boolean {
  return entry.fact === 'exit' || entry.fact === 'suicide' || (entry.fact === 'harm' && entry.what === 'kill');
}

/** Until when an outcome is stored: disturbances on the way put it off. */
function settledBy(disturbances: readonly Disturbance[], endedAt: number): number {
  let end = endedAt + settleMs;
  for (const { from, to } of disturbances) if (from <= end && to + afterOutageMs > end) end = to + afterOutageMs;
  return end;
}

function merge(disturbances: readonly Disturbance[]): readonly Disturbance[] {
  const merged: Disturbance[] = [];
  for (const next of disturbances.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || next.from - last.to > closeMs) merged.push(next);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, next.to) };
  }
  return merged;
}
