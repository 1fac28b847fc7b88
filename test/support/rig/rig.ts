import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnqueueOptions, JobsModuleOptions, PersistentJobQueue, PersistentQueueOptions } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { Child, killChildren, type Ending } from '../child.js';
import type { TestDatabase } from '../databases.js';
import { projectRoot } from '../markdown.js';
import { quickOptions, QueueRig } from '../queue-rig.js';
import { until } from '../until.js';
import { faultMark, readyLine, type AppOptions, type AppSchedule } from './app-options.js';
import { Effects, type Effect } from './effects.js';
import type { Step } from './script.js';

/** An app is up within two seconds, unless much else is going on. */
const startMs = 60_000;

/** What one app of a rig is. */
export interface StartOptions extends Omit<JobsModuleOptions, 'persistent'> {
  readonly persistent?: PersistentQueueOptions;
  /** For steps that are meant for one app only. */
  readonly name?: string;
  /** Default: `work`. */
  readonly types?: readonly string[];
  /** Those of them whose handlers are transactional. Default: none. */
  readonly transactional?: readonly string[];
  /** The schedules in its code. Default none. */
  readonly schedules?: readonly AppSchedule[];
  /** By how many milliseconds its clock is wrong. */
  readonly clockShift?: number;
  /**
   * Apps of one machine can prove each other's death. `'own'` (default) lets each app believe it has a machine for itself, so that
   * leases decide; apps with the same other name share a machine.
   */
  readonly machine?: string;
  /** A command in front of Node: `['unshare', '--pid', '--fork']`. */
  readonly under?: readonly string[];
}

/** An app in a process of its own. */
export class RigApp {
  constructor(private readonly child: Child) {}

  get pid(): number | undefined {
    return this.child.pid;
  }

  get ended(): Promise<Ending> {
    return this.child.ended;
  }

  /** Its lines of the log, each as `[context] level: message`. */
  get lines(): readonly string[] {
    return this.child.output.split('\n').filter((line) => /^\[[^\]]*\] (log|warn|error|debug): /.test(line));
  }

  /** What no app may do: warnings of the process, unhandled errors. */
  get faults(): readonly string[] {
    return this.child.output.split('\n').filter((line) => line.startsWith(faultMark));
  }

  get output(): string {
    return this.child.output;
  }

  prints(text: string | RegExp, within?: number): Promise<void> {
    return this.child.prints(text, within);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Ending> {
    this.signal(signal);
    return this.ended;
  }
}

/** One database, apps of it in processes of their own, and a look at what they do from outside. */
export class Rig extends QueueRig {
  private readonly apps: RigApp[] = [];
  private machines = 0;
  private producer: Promise<PersistentJobQueue> | undefined;

  private constructor(
    dataSource: DataSource,
    private readonly database: TestDatabase,
    private readonly ledger: Effects,
    private readonly folder: string,
  ) {
    super(dataSource);
  }

  /** Makes one over the test database; `close` ends all that it started. */
  static async create(database: TestDatabase): Promise<Rig> {
    const dataSource = await database.connect();
    const ledger = await Effects.open(database.options());
    await ledger.create();
    return new Rig(dataSource, database, ledger, await mkdtemp(join(tmpdir(), 'nestjs-jobs-rig-')));
  }

  /** Starts an app and waits until it is up. */
  async start(options: StartOptions = {}): Promise<RigApp> {
    const app = this.launch(options);
    await app.prints(readyLine, startMs);
    return app;
  }

  /** Starts an app without waiting for it. */
  launch(options: StartOptions = {}): RigApp {
    const {
      name = '',
      types = ['work'],
      schedules = [],
      transactional = [],
      clockShift = 0,
      machine = 'own',
      under = [],
      ...jobs
    } = options;
    const appOptions: AppOptions = {
      name,
      dataSource: this.database.options(),
      jobs: { ...jobs, persistent: { ...quickOptions, lease: 1_500, ...jobs.persistent } },
      types,
      transactional,
      schedules,
      gates: this.folder,
    };
    const host = machine === 'own' ? `machine-${++this.machines}` : machine;
    const [command, ...args] = [
      ...under,
      process.execPath,
      ...(clockShift === 0 ? [] : ['--import', wrongClock(clockShift)]),
      '.children/test/support/rig/app.js',
    ];
    const app = new RigApp(new Child(args, { command, cwd: projectRoot, env: this.environment(host, appOptions) }));
    this.apps.push(app);
    return app;
  }

  /** Stores a job that takes these steps. */
  async enqueue(
    steps: readonly Step[],
    { type = 'work', ...options }: EnqueueOptions & { readonly type?: string } = {},
  ): Promise<string> {
    this.producer ??= this.queue();
    return (await this.producer).enqueue(type, steps, options);
  }

  /** Waits until a job's lease has just been renewed, so that its process is not in the middle of a statement. */
  async heartbeat(jobId: string): Promise<void> {
    const where = `id = '${jobId}'`;
    const { lease_until: before } = await this.row(where);
    await until(async () => (await this.row(where)).lease_until !== before);
  }

  /** Lets jobs go on that wait at this gate. */
  async open(gate: string): Promise<void> {
    await writeFile(join(this.folder, gate), '');
  }

  /** What a job has done: `start by 123`, … . Of all jobs where none is named. */
  async effects(jobId?: string): Promise<readonly Effect[]> {
    return (await this.ledger.all()).filter((effect) => jobId === undefined || effect.jobId === jobId);
  }

  /** How often there is this effect. */
  async count(what: string, jobId?: string): Promise<number> {
    return (await this.effects(jobId)).filter((effect) => effect.what === what).length;
  }

  /** All lines of the given kinds that tell of what no app may do. */
  faults(): readonly string[] {
    return this.apps.flatMap(({ faults }) => faults);
  }

  override async close(): Promise<void> {
    killChildren();
    await Promise.all(this.apps.map(({ ended }) => ended));
    await super.close();
    await this.ledger.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private environment(machine: string, options: AppOptions): NodeJS.ProcessEnv {
    const folder = join(this.folder, machine);
    return { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', TMPDIR: folder, RIG: JSON.stringify(options) };
  }
}

/** A module that sets the clock of its process. */
function wrongClock(shiftMs: number): string {
  const code = `
    const now = Date.now;
    Date.now = () => now() + ${shiftMs};
    globalThis.Date = class extends Date { constructor(...parts) { super(...(parts.length === 0 ? [Date.now()] : parts)); } };`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
