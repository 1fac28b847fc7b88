import { everybody, type Harm } from '../ledger/fact.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Crew } from '../crew/crew.js';
import type { Member } from '../crew/member.js';
import type { ServerPower } from '../servers/server.js';
import { monotonicMs } from '../terms.js';
import type { PlannedHarm } from './plan.js';

export interface HarmerParts {
  readonly crew: Crew;
  readonly ledger: Ledger;
  readonly power: ServerPower | undefined;
  /** Holds the write lock of the database file for so long. */
  readonly holdLock: (ms: number) => Promise<void>;
}

/** A connection that went silent is given up by the driver after 30 seconds, and a lease must be had anew after that. */
const silentMs = 35_000;

type Deed = (target: Member, ms: number) => Promise<void>;

/** Does what the plan says, at its time, and writes it down with its real length. */
export class Harmer {
  /** One kind of lasting harm at a time for each target: the end of one would end the other. */
  private readonly held = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];

  constructor(private readonly parts: HarmerParts) {}

  /** @throws what kept harm from being done: a server that did not come back, say */
  async follow(plan: readonly PlannedHarm[]): Promise<void> {
    const startedAt = monotonicMs();
    for (const harm of plan) {
      await sleep(startedAt + harm.at - monotonicMs());
      if (this.failures.length > 0) break;
      const doing = this.begin(harm)
        .catch((error: unknown) => void this.failures.push(error))
        .finally(() => this.underWay.delete(doing));
      this.underWay.add(doing);
    }
    await Promise.all(this.underWay);
    if (this.failures.length > 0) throw new Error('harm could not be done', { cause: this.failures[0] });
  }

  private async begin({ what, target, ms }: PlannedHarm): Promise<void> {
    if (what === 'restart' || what === 'crash') return this.once(everybody, () => this.powerCycle(what, ms));
    if (what === 'lock') return this.once(everybody, () => this.lock(ms));
    const member = this.parts.crew.members[target];
    if (member?.pid === undefined) return undefined;
    const deed = this.deeds[what];
    if (what === 'kill' || what === 'terminate') return deed(member, ms);
    return this.once(member.name, () => deed(member, ms));
  }

  private async once(target: string, act: () => Promise<void>): Promise<void> {
    if (this.held.has(target)) return;
    this.held.add(target);
    try {
      await act();
    } finally {
      this.held.delete(target);
    }
  }

  private readonly deeds: Readonly<Record<Exclude<Harm, 'restart' | 'crash' | 'lock'>, Deed>> = {
    kill: async (target) => {
      this.note('kill', target, -1, monotonicMs());
      target.signal('SIGKILL');
    },
    terminate: async (target) => {
      this.note('terminate', target, 0, monotonicMs());
      target.signal('SIGTERM');
    },
    stop: async (target, ms) => {
      await this.during('stop', target, ms, () => target.signal('SIGSTOP'));
      target.signal('SIGCONT');
    },
    cut: async (target) => {
      await this.during('cut', target, 0, () => target.proxy?.cut());
    },
    deafen: async (target, ms) => {
      await this.during('deafen', target, ms, () => target.proxy?.deafen());
      target.proxy?.cut();
      target.proxy?.resume();
    },
    stall: async (target, ms) => {
      await this.during('stall', target, ms, () => target.proxy?.stall());
      target.proxy?.resume();
    },
    refuse: async (target, ms) => {
      await this.during('refuse', target, ms, () => target.proxy?.refuse());
      target.proxy?.resume();
    },
    freeze: async (target) => {
      this.note('freeze', target, silentMs, monotonicMs());
      target.proxy?.freeze();
    },
  };

  private async during(what: Harm, target: Member, ms: number, act: () => void): Promise<void> {
    const from = monotonicMs();
    const { pid } = target;
    act();
    await sleep(ms);
    this.note(what, { name: target.name, pid }, monotonicMs() - from, from);
  }

  private async powerCycle(what: 'restart' | 'crash', ms: number): Promise<void> {
    const { power } = this.parts;
    const from = monotonicMs();
    await (what === 'restart' ? power?.stop() : power?.crash());
    await sleep(ms);
    await power?.start();
    this.note(what, { name: everybody, pid: 0 }, monotonicMs() - from, from);
  }

  private async lock(ms: number): Promise<void> {
    const from = monotonicMs();
    await this.parts.holdLock(ms);
    this.note('lock', { name: everybody, pid: 0 }, monotonicMs() - from, from);
  }

  private note(
    what: Harm,
    target: { readonly name: string; readonly pid: number | undefined },
    ms: number,
    at: number,
  ) {
    this.parts.ledger.write({ fact: 'harm', what, ms }, { at, member: target.name, pid: target.pid ?? 0 });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
