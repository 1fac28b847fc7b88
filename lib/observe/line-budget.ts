import { startTimer } from '../model/timer.js';

/** How long lines of a kind are counted together. */
const windowMs = 5_000;

type Level = 'debug' | 'log' | 'warn';

/** Lines that say the same of different jobs. */
export interface LineKind {
  readonly level: Level;
  /** So many are written one by one. */
  readonly most: number;
  /** What is said of all others. */
  readonly sumUp: (count: number) => string;
}

interface Window {
  left: number;
  more: number;
  readonly stopTimer: () => void;
}

/**
 * Bounds what one cause can write into the log: an outage may cost a thousand jobs their claims at once. The first lines of a kind are
 * written, the others counted and summed up in one line after some seconds; while more come, one line each time.
 */
export class LineBudget {
  private readonly windows = new Map<LineKind, Window>();

  constructor(private readonly sink: Record<Level, (message: string) => void>) {}

  tell(kind: LineKind, line: () => string): void {
    const window = this.windows.get(kind) ?? this.open(kind, kind.most);
    if (window.left === 0) {
      window.more += 1;
      return;
    }
    window.left -= 1;
    this.sink[kind.level](line());
  }

  /** Sums up now what would be summed up later. */
  flush(): void {
    for (const kind of this.windows.keys()) this.close(kind);
  }

  private open(kind: LineKind, left: number): Window {
    const window = { left, more: 0, stopTimer: startTimer(windowMs, () => this.renew(kind), 'unref') };
    this.windows.set(kind, window);
    return window;
  }

  private renew(kind: LineKind): void {
    if (this.close(kind) > 0) this.open(kind, 0);
  }

  /** Returns how many were summed up. */
  private close(kind: LineKind): number {
    const { more, stopTimer } = this.windows.get(kind) ?? { more: 0, stopTimer: () => undefined };
    stopTimer();
    this.windows.delete(kind);
    if (more > 0) this.sink[kind.level](kind.sumUp(more));
    return more;
  }
}
