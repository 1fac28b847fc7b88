import { runClean } from '../execution/clean-context.js';
import { startTimer } from '../model/timer.js';

/** How long a loop may turn without letting timers and input have their say, milliseconds. */
const longestStretch = 8;

/**
 * Repeats a `turn()`: the only loop of the library.
 *
 * A turn says how long to rest; `wake()` cuts a rest short, or the next one when a turn is under way, so that no wake-up is lost. A turn must
 * not throw. Turns that follow each other without a rest let the event loop breathe every few milliseconds,
 * since promises alone would starve timers and sockets.
 */
export class Loop {
  private state: 'stopped' | 'running' | 'stopping' = 'stopped';
  private isWoken = false;
  private endRest: (() => void) | undefined;
  private ended: Promise<void> = Promise.resolve();

  /**
   * @param turn Does one round of work; resolves to the milliseconds to rest, `Infinity` to rest until woken.
   * @param keepAlive `'unref'` lets the process end while the loop rests. Default `'ref'`.
   */
  constructor(
    private readonly turn: () => Promise<number>,
    private readonly keepAlive: 'ref' | 'unref' = 'ref',
  ) {}

  /** Whether a turn may still be under way. */
  get isActive(): boolean {
    return this.state !== 'stopped';
  }

  start(): void {
    if (this.state !== 'stopped') return;
    this.state = 'running';
    this.ended = runClean(() => this.run());
  }

  wake(): void {
    this.isWoken = true;
    this.endRest?.();
  }

  /** Lets the turn under way finish; resolves when the loop has ended. */
  stop(): Promise<void> {
    if (this.state === 'running') this.state = 'stopping';
    this.endRest?.();
    return this.ended;
  }

  private async run(): Promise<void> {
    let breathed = performance.now();
    while (this.state === 'running') {
      this.isWoken = false;
      const restMs = await this.turn();
      if (this.state !== 'running') break;
      if (restMs > 0 && !this.isWoken) {
        await this.rest(restMs);
        breathed = performance.now();
      } else if (performance.now() - breathed > longestStretch) {
        await new Promise((resolve) => setImmediate(resolve));
        breathed = performance.now();
      }
    }
    this.state = 'stopped';
  }

  private rest(restMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = Number.isFinite(restMs) ? startTimer(restMs, () => end(), this.keepAlive) : undefined;
      const end = (): void => {
        stopTimer?.();
        this.endRest = undefined;
        resolve();
      };
      this.endRest = end;
    });
  }
}
