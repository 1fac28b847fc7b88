import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What the kernel says of a process; together these name one process of one machine since its boot. Absent where it does
 * not say it.
 */
export interface ProcessFacts {
  /** New at each boot of the machine. */
  readonly boot: string;
  /** Containers have process numbers of their own: only numbers of one space can be compared. */
  readonly pidSpace: string;
  readonly pid: number;
  /** Clock ticks from the boot to the start of the process: process numbers are used again. */
  readonly startedAt: string;
}

/** Asks the kernel. Replaced in tests. */
export interface Kernel {
  boot(): Promise<string>;
  pidSpace(): Promise<string>;
  /** Start of a process; `undefined` when there is none of this number. */
  startOf(pid: number): Promise<string | undefined>;
}

/** Where processes leave a mark while they live, so that only owners of this file system are judged. */
const markFolder = join(tmpdir(), 'nestjs-jobs');

/** A crash is made good within hours, so a mark need not outlive a month. */
const keptMarksMs = 30 * 86_400_000;

const unknown = '-';

/**
 * The name under which this process claims jobs, and the judgement whether the process behind such a name is dead.
 *
 * The name is `host/boot/pid space/pid/start/random`, with `.n` for the n-th engine. An owner counts as dead only when that is proven: it ran on this boot of
 * this machine, in this process space, with this file system, and the kernel says that its process is gone. Anything less leaves
 * the job to its lease.
 */
export class ProcessIdentity {
  private constructor(
    private readonly kernel: Kernel,
    private readonly facts: ProcessFacts | undefined,
    /** Unique for each identity that was ever made; at most 200 characters of ASCII. */
    readonly name: string,
  ) {}

  /** A further name of this process, for an engine that must not be taken for the one before it. */
  nameOf(serial: number): string {
    return `${this.name}.${serial}`;
  }

  static async create(kernel: Kernel = linux): Promise<ProcessIdentity> {
    const facts = await factsOf(kernel, process.pid);
    const host = hostname()
      .replaceAll(/[^\w.-]/g, '_')
      .slice(0, 60);
    const parts =
      facts === undefined
        ? [unknown, unknown, process.pid, unknown]
        : [facts.boot, facts.pidSpace, facts.pid, facts.startedAt];
    const name = [host, ...parts, randomUUID()].join('/');
    if (facts !== undefined) await leaveMark(name);
    return new ProcessIdentity(kernel, facts, name);
  }

  /** Whether the process behind this name is proven to be dead. */
  async isDead(name: string): Promise<boolean> {
    const owner = parse(name);
    if (owner === undefined || this.facts === undefined) return false;
    if (owner.boot !== this.facts.boot || owner.pidSpace !== this.facts.pidSpace) return false;
    if (!(await hasMark(name))) return false;
    try {
      return (await this.kernel.startOf(owner.pid)) !== owner.startedAt;
    } catch {
      return false;
    }
  }

  /** Takes away the mark of this process, or of one that is dead and whose jobs have been taken back. */
  async forget(name: string = this.name): Promise<void> {
    await rm(markOf(name), { force: true }).catch(() => undefined);
  }
}

/** Linux tells all of it under /proc; other systems, and hardened ones, tell less, and then nothing is judged. */
const linux: Kernel = {
  async boot() {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  },
  async pidSpace() {
    const ownNumbers = /^NSpid:(.*)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1]?.trim();
    // In a process space without a /proc of its own, that of the space around it tells of other processes under our numbers.
    if (ownNumbers !== String(process.pid)) throw new Error('/proc does not belong to this process space');
    return (await readlink('/proc/self/ns/pid')).replaceAll(/\D/g, '');
  },
  async startOf(pid) {
    try {
      const text = await readFile(`/proc/${pid}/stat`, 'utf8');
      // The second field is the command in brackets, which may hold anything; then come the state and, as field 22, the start.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
    } catch (error) {
      // A hardened /proc hides the processes of other users; a signal to one of them is refused, not lost.
      if (isGone(error) && !takesSignals(pid)) return undefined;
      throw error;
    }
  },
};

function isGone(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ESRCH';
}

/** Whether there is a process of this number, be it one that we may not touch. */
function takesSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

async function factsOf(kernel: Kernel, pid: number): Promise<ProcessFacts | undefined> {
  try {
    const [boot, pidSpace, startedAt] = await Promise.all([kernel.boot(), kernel.pidSpace(), kernel.startOf(pid)]);
    if (boot === '' || pidSpace === '' || startedAt === undefined) return undefined;
    return { boot, pidSpace, pid, startedAt };
  } catch {
    return undefined;
  }
}

/** What the name of an owner says to people. */
export function partsOfOwner(name: string): { readonly host: string | undefined; readonly pid: number | undefined } {
  const [host, , , pid, , random] = name.split('/');
  const isOurs = random !== undefined && /^\d+$/.test(pid ?? '');
  return isOurs ? { host, pid: Number(pid) } : { host: undefined, pid: undefined };
}

function parse(name: string): ProcessFacts | undefined {
  const [, boot, pidSpace, pid, startedAt, random] = name.split('/');
  if (boot === undefined || pidSpace === undefined || startedAt === undefined || random === undefined) return undefined;
  if (boot === unknown || !/^\d+$/.test(pid ?? '')) return undefined;
  return { boot, pidSpace, pid: Number(pid), startedAt };
}

function markOf(name: string): string {
  const [random = ''] = (name.split('/').at(-1) ?? '').split('.');
  return join(markFolder, random.replaceAll(/[^0-9a-f-]/g, ''));
}

/** Without a mark this process will just not be judged. */
async function leaveMark(name: string): Promise<void> {
  try {
    await mkdir(markFolder, { recursive: true, mode: 0o1777 });
    await writeFile(markOf(name), '', { flag: 'wx' });
    await sweepMarks();
  } catch {
    return;
  }
}

/** Processes that died without jobs leave marks that nobody takes away. A live one that loses its mark is just not judged. */
async function sweepMarks(): Promise<void> {
  const outdated = Date.now() - keptMarksMs;
  for (const file of await readdir(markFolder)) {
    const path = join(markFolder, file);
    const { mtimeMs } = await stat(path);
    if (mtimeMs < outdated) await rm(path, { force: true });
  }
}

async function hasMark(name: string): Promise<boolean> {
  try {
    return (await stat(markOf(name))).isFile();
  } catch {
    return false;
  }
}
