import { startTimer } from '../../../lib/model/timer.js';
import { Child } from '../../support/child.js';
import type { Duty } from '../apps/duty.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Proxy } from '../../support/proxy.js';
import type { Random } from '../random.js';

const longestDismissalMs = 60_000;

export type Role = 'worker' | 'producer';

export interface MemberParts {
  readonly role: Role;
  /** The path of the program that it runs. */
  readonly app: string;
  readonly duty: Duty;
  /** Its own way to the database; `undefined` where that is a file. */
  readonly proxy: Proxy | undefined;
  readonly ledger: Ledger;
  readonly random: Random;
}

/** A process of the run and its successors: when it ends, whatever the reason, another one takes its place. */
export class Member {
  private child: Child | undefined;
  private isDismissed = false;
  private life: Promise<void> | undefined;

  constructor(private readonly parts: MemberParts) {}

  get name(): string {
    return this.parts.duty.member;
  }

  get role(): Role {
    return this.parts.role;
  }

  get proxy(): Proxy | undefined {
    return this.parts.proxy;
  }

  /** The process of now; `undefined` between two. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  start(): void {
    this.life = this.live();
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Ends it in good order; nobody takes its place. Resolves when it has ended. */
  async dismiss(): Promise<void> {
    this.isDismissed = true;
    this.parts.ledger.write({ fact: 'dismissed' }, { member: this.name, pid: this.pid ?? 0 });
    this.signal('SIGTERM');
    // One that does not end is a problem, which its exit by this signal tells; it must not hold up the audit.
    const stopTimer = startTimer(longestDismissalMs, () => this.signal('SIGKILL'));
    await this.life;
    stopTimer();
  }

  private async live(): Promise<void> {
    const { random } = this.parts;
    for (let generation = 1; !this.isDismissed; generation += 1) {
      await this.liveOnce(generation);
      if (!this.isDismissed) await new Promise((resolve) => setTimeout(resolve, random.between(20, 400)));
    }
  }

  private async liveOnce(generation: number): Promise<void> {
    const { app, duty, ledger } = this.parts;
    const own: Duty = { ...duty, seed: `${duty.seed}/${generation}` };
    const env = { ...process.env, CHAOS_DUTY: JSON.stringify(own), NODE_OPTIONS: '' };
    const child = new Child([app], { env });
    this.child = child;
    const seen = { member: this.name, pid: child.pid ?? 0 };
    ledger.write({ fact: 'spawned' }, seen);
    const { code, signal } = await child.ended;
    this.child = undefined;
    ledger.write({ fact: 'exit', code, signal }, seen);
    if (child.output !== '') ledger.write({ fact: 'log', line: child.output.slice(-4_000) }, seen);
  }
}
