/** Shares one statement among all that wait while the one before is under way: what raw SQL can do for many callers at once. */
export class GroupCommit {
  #waiting = [];
  #isBusy = false;
  #write;

  /** @param {(items: unknown[]) => Promise<unknown>} write Stores them in one statement. */
  constructor(write) {
    this.#write = write;
  }

  /** Resolves when the item is stored. */
  add(item) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isBusy) void this.#flush();
    });
  }

  async #flush() {
    this.#isBusy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isBusy = false;
  }
}
