/** Messages by their kind; one that comes before anybody waits for it is kept. */
export class Inbox {
  #kept = new Map();
  #waiting = new Map();

  put(kind, values) {
    const resolve = this.#waiting.get(kind);
    this.#waiting.delete(kind);
    if (resolve !== undefined) resolve(values);
    else this.#kept.set(kind, values);
  }

  /** Resolves to what the next message of this kind says, or the last one that nobody has taken. */
  take(kind) {
    if (this.#kept.has(kind)) {
      const values = this.#kept.get(kind);
      this.#kept.delete(kind);
      return Promise.resolve(values);
    }
    return new Promise((resolve) => this.#waiting.set(kind, resolve));
  }
}
