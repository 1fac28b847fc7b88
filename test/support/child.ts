import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { until } from './until.js';

/** How a child process ended: with a code, or by a signal. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const children = new Set<ChildProcess>();

/** How to start one; `command` stands for Node, and `args` are then its own. */
export type ChildOptions = SpawnOptions & { readonly command?: string };

/** A Node process of its own, with what it has printed. */
export class Child {
  /** Standard output and standard error, as they came. */
  output = '';
  readonly ended: Promise<Ending>;
  private readonly process: ChildProcess;
  private hasEnded = false;

  constructor(args: readonly string[], { command = process.execPath, ...options }: ChildOptions = {}) {
    this.process = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(this.process);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = new Promise((resolve, reject) => {
      this.process.once('error', reject);
      this.process.once('close', (code, signal) => {
        this.hasEnded = true;
        children.delete(this.process);
        resolve({ code, signal });
      });
    });
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Waits until it has printed this; fails with all that it printed when it ends or takes too long. */
  async prints(text: string | RegExp, within = 30_000): Promise<void> {
    const hasPrinted = (): boolean => (typeof text === 'string' ? this.output.includes(text) : text.test(this.output));
    await until(() => hasPrinted() || this.hasEnded, { what: `the child's output ${String(text)}`, within }).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}; it printed:\n${this.output}`);
      },
    );
    if (!hasPrinted()) throw new Error(`the child ended without ${String(text)}; it printed:\n${this.output}`);
  }
}

/** For `afterEach`: a failed test leaves no process behind. */
export function killChildren(): void {
  for (const child of children) child.kill('SIGKILL');
}
