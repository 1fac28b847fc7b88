/** A binary heap: the item that `isBefore` all others comes out first. */
export class Heap<T> {
  private readonly items: T[] = [];

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.items.length;
  }

  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    let at = this.items.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  pop(): T | undefined {
    const first = this.items[0];
    const last = this.items.pop();
    if (last === undefined || this.items.length === 0) return first;
    this.items[0] = last;
    this.sink();
    return first;
  }

  some(matches: (item: T) => boolean): boolean {
    return this.items.some(matches);
  }

  /** Takes out the first item that matches, wherever it lies; looks at all of them. */
  remove(matches: (item: T) => boolean): T | undefined {
    const at = this.items.findIndex(matches);
    if (at === -1) return undefined;
    const rest = [...this.items];
    const [removed] = rest.splice(at, 1);
    this.clear();
    for (const item of rest) this.push(item);
    return removed;
  }

  clear(): void {
    this.items.length = 0;
  }

  private sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const child = this.isItemBefore(left + 1, left) ? left + 1 : left;
      if (!this.swapIfBefore(child, at)) return;
      at = child;
    }
  }

  private swapIfBefore(child: number, parent: number): boolean {
    if (!this.isItemBefore(child, parent)) return false;
    const [a, b] = [this.items[child] as T, this.items[parent] as T];
    this.items[child] = b;
    this.items[parent] = a;
    return true;
  }

  private isItemBefore(a: number, b: number): boolean {
    return a < this.items.length && b < this.items.length && this.isBefore(this.items[a] as T, this.items[b] as T);
  }
}
