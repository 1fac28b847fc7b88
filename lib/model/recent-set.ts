/** The last so many values that were added. */
export class RecentSet<T> {
  private readonly values = new Set<T>();

  constructor(private readonly most: number) {}

  add(value: T): void {
    this.values.delete(value);
    this.values.add(value);
    if (this.values.size <= this.most) return;
    for (const oldest of this.values) {
      this.values.delete(oldest);
      return;
    }
  }

  /** Says whether it was there. */
  delete(value: T): boolean {
    return this.values.delete(value);
  }
}
