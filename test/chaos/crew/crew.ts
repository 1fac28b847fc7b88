import { join } from 'node:path';
import type { ChaosOptions } from '../options.js';
import type { Ledger } from '../ledger/ledger.js';
import { Proxy } from '../../support/proxy.js';
import { Random } from '../random.js';
import type { ChaosServer } from '../servers/server.js';
import { Member, type Role } from './member.js';

const workerApps = ['nest-worker.app.js', 'worker.app.js'] as const;
const producerApp = 'producer.app.js';

/** Where the members of a crew find what they need. */
export interface CrewPlace {
  /** Where the ledgers are. */
  readonly folder: string;
  /** Where the programs are. */
  readonly apps: string;
  readonly server: ChaosServer;
  readonly ledger: Ledger;
}

/** All processes of a run, and the proxies in front of them. */
export class Crew {
  private constructor(readonly members: readonly Member[]) {}

  static async hire({ seed, workers, producers }: ChaosOptions, place: CrewPlace): Promise<Crew> {
    const make = async (role: Role, index: number): Promise<Member> => {
      const app = role === 'producer' ? producerApp : (workerApps[index % 2] ?? workerApps[0]);
      const member = `${role}-${index + 1}`;
      const proxy = await proxyTo(place.server);
      const source = place.server.options(proxy?.port);
      const duty = { member, folder: place.folder, seed: `${seed}/${member}`, source };
      return new Member({
        role,
        app: join(place.apps, app),
        duty,
        proxy,
        ledger: place.ledger,
        random: new Random(seed, member),
      });
    };
    const roles: readonly [Role, number][] = [
      ['worker', workers],
      ['producer', producers],
    ];
    const hired = roles.flatMap(([role, count]) => Array.from({ length: count }, (_, index) => make(role, index)));
    return new Crew(await Promise.all(hired));
  }

  start(): void {
    for (const member of this.members) member.start();
  }

  of(role: Role): readonly Member[] {
    return this.members.filter((member) => member.role === role);
  }

  /** Lets everything that was held up go on. */
  relieve(): void {
    for (const { proxy } of this.members) {
      proxy?.resume();
      proxy?.cut();
    }
    for (const member of this.members) member.signal('SIGCONT');
  }

  async dismiss(role: Role): Promise<void> {
    await Promise.all(this.of(role).map((member) => member.dismiss()));
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map(async ({ proxy }) => proxy?.close()));
  }
}

async function proxyTo({ port }: ChaosServer): Promise<Proxy | undefined> {
  if (port === undefined) return undefined;
  const proxy = new Proxy({ port });
  await proxy.listen();
  return proxy;
}
