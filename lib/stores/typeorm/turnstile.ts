/**
 * Lets so many pieces of work through at once, the others wait in the order of their coming. Inserts pass one that is narrower than
 * the pool: however many large ones the app asks for at once, a connection stays free for claims.
 */
export class Turnstile {
  private readonly waiting: (() => void)[] = [];
  private inside = 0;

  /** @param most How many at once; at least one passes. */
  constructor(private readonly most: number) {}

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.inside >= Math.max(1, this.most)) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.inside += 1;
    try {
      return await work();
    } finally {
      // Whoever is next takes over the place, so that nobody slips in between.
      const next = this.waiting.shift();
      if (next === undefined) this.inside -= 1;
      else next();
    }
  }
}
