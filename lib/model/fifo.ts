/** A queue whose both ends cost the same however long it is; `Array.shift` on a huge array does not. */
export class Fifo<T> {
  private items: (T | undefined)[] = [];
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  /** The item that `shift` would hand out next. */
  peek(): T | undefined {
    return this.items[this.head];
  }

  /** All items, the next one first. */
  values(): readonly T[] {
    return this.items.slice(this.head) as T[];
  }

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    const item = this.items[this.head];
    if (this.head >= this.items.length) return undefined;
    this.items[this.head] = undefined;
    this.head += 1;
    if (this.head === this.items.length) {
      this.items = [];
      this.head = 0;
    } else if (this.head >= 4_096 && this.head * 2 >= this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }

  some(matches: (item: T) => boolean): boolean {
    return this.values().some(matches);
  }

  /** Takes out the first item that matches, wherever it waits; looks at all of them in turn. */
  remove(matches: (item: T) => boolean): T | undefined {
    for (let at = this.head; at < this.items.length; at++) {
      const item = this.items[at] as T;
      if (!matches(item)) continue;
      this.items.splice(at, 1);
      return item;
    }
    return undefined;
  }

  clear(): void {
    this.items = [];
    this.head = 0;
  }
}
