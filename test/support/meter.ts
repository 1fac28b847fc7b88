/** Counts how many run at the same time, by type. */
export class Meter {
  readonly most = new Map<string, number>();
  readonly done = new Map<string, number>();
  private readonly now = new Map<string, number>();

  /** @param ms How long each runs. With less than a machine needs to start the next one, there are never two at a time. */
  handler(type: string, ms = 2): () => Promise<void> {
    return async () => {
      const running = (this.now.get(type) ?? 0) + 1;
      this.now.set(type, running);
      this.most.set(type, Math.max(this.most.get(type) ?? 0, running));
      await new Promise((resolve) => setTimeout(resolve, ms));
      this.now.set(type, (this.now.get(type) ?? 0) - 1);
      this.done.set(type, (this.done.get(type) ?? 0) + 1);
    };
  }
}
