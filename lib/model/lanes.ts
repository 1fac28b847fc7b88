import { Fifo } from './fifo.js';

/** Queues side by side, one for each priority: the lowest number is served first, and each in its own order. */
export class Lanes<T> {
  private readonly lanes = new Map<number, Fifo<T>>();
  /** Ascending. */
  private priorities: number[] = [];

  get size(): number {
    let size = 0;
    for (const lane of this.lanes.values()) size += lane.size;
    return size;
  }

  push(item: T, priority = 0): void {
    const lane = this.lanes.get(priority) ?? this.open(priority);
    lane.push(item);
  }

  shift(): T | undefined {
    for (const priority of this.priorities) {
      const lane = this.lanes.get(priority);
      if (lane !== undefined && lane.size > 0) return lane.shift();
    }
    return undefined;
  }

  some(matches: (item: T) => boolean): boolean {
    return [...this.lanes.values()].some((lane) => lane.some(matches));
  }

  /** Takes out the first item that matches. */
  remove(matches: (item: T) => boolean): T | undefined {
    for (const lane of this.lanes.values()) {
      const found = lane.remove(matches);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  clear(): void {
    this.lanes.clear();
    this.priorities = [];
  }

  private open(priority: number): Fifo<T> {
    const lane = new Fifo<T>();
    this.lanes.set(priority, lane);
    this.priorities = [...this.priorities, priority].toSorted((a, b) => a - b);
    return lane;
  }
}
