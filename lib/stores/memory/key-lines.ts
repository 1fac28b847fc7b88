import { Fifo } from '../../model/fifo.js';

/** The due jobs of one key. */
interface KeyLine<T> {
  /** Those that were started before come first. */
  readonly again: Fifo<T>;
  readonly fresh: Fifo<T>;
  isRunning: boolean;
  /** How many were claimed before and wait for their time. */
  putOff: number;
  /** Whether it waits for its turn. */
  isLinedUp: boolean;
}

interface KeyRound<T> {
  readonly lines: Map<string, KeyLine<T>>;
  /** The keys of which a job may run, in the order of their turns. */
  readonly turns: Fifo<string>;
}

/** Jobs with keys that are due: of each key one at a time, in the order in which they became due; key by key in the round. */
export class KeyLines<T> {
  private readonly rounds = new Map<string, KeyRound<T>>();

  get size(): number {
    let size = 0;
    for (const { lines } of this.rounds.values()) for (const line of lines.values()) size += sizeOf(line);
    return size;
  }

  push(item: T, { type, key, wasHanded }: { type: string; key: string; wasHanded: boolean }): void {
    const line = this.lineOf(type, key);
    (wasHanded ? line.again : line.fresh).push(item);
    this.lineUp(type, key);
  }

  /** Hands out the next job of the type that may run; its key waits until it has ended. */
  shift(type: string): T | undefined {
    const round = this.rounds.get(type);
    for (let key = round?.turns.shift(); round !== undefined && key !== undefined; key = round.turns.shift()) {
      const line = this.lineOf(type, key);
      line.isLinedUp = false;
      if (line.isRunning || line.putOff > 0) continue;
      const item = line.again.shift() ?? line.fresh.shift();
      if (item === undefined) continue;
      line.isRunning = true;
      return item;
    }
    return undefined;
  }

  /** The job that ran has ended, or was none after all. */
  ended(type: string, key: string): void {
    this.lineOf(type, key).isRunning = false;
    this.lineUp(type, key);
  }

  /** A job that was claimed waits for its time; with -1 it has come, or will never come. */
  putOff(type: string, key: string, change: 1 | -1): void {
    const line = this.lineOf(type, key);
    line.putOff = Math.max(0, line.putOff + change);
    this.lineUp(type, key);
  }

  some(matches: (item: T) => boolean): boolean {
    const lines = [...this.rounds.values()].flatMap((round) => [...round.lines.values()]);
    return lines.some(({ again, fresh }) => again.some(matches) || fresh.some(matches));
  }

  remove(matches: (item: T) => boolean): T | undefined {
    for (const { lines } of this.rounds.values()) {
      for (const line of lines.values()) {
        const found = line.again.remove(matches) ?? line.fresh.remove(matches);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  clear(): void {
    for (const { lines } of this.rounds.values()) {
      for (const line of lines.values()) {
        line.again.clear();
        line.fresh.clear();
        line.putOff = 0;
      }
    }
  }

  private lineUp(type: string, key: string): void {
    const round = this.roundOf(type);
    const line = this.lineOf(type, key);
    if (line.isLinedUp || line.isRunning || line.putOff > 0) return;
    if (sizeOf(line) === 0) round.lines.delete(key);
    else {
      line.isLinedUp = true;
      round.turns.push(key);
    }
  }

  private lineOf(type: string, key: string): KeyLine<T> {
    const { lines } = this.roundOf(type);
    const line = lines.get(key) ?? {
      again: new Fifo<T>(),
      fresh: new Fifo<T>(),
      isRunning: false,
      putOff: 0,
      isLinedUp: false,
    };
    lines.set(key, line);
    return line;
  }

  private roundOf(type: string): KeyRound<T> {
    const round = this.rounds.get(type) ?? { lines: new Map<string, KeyLine<T>>(), turns: new Fifo<string>() };
    this.rounds.set(type, round);
    return round;
  }
}

function sizeOf<T>({ again, fresh }: KeyLine<T>): number {
  return again.size + fresh.size;
}
