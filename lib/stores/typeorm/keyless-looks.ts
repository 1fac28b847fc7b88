/** A look may take a twentieth of the time. */
const share = 20;

interface Look {
  readonly nextAt: number;
}

/**
 * When to look for jobs without a key behind many that have one, of which the database has to pass each: at once where the last look found some,
 * and otherwise so seldom that the looks cost next to nothing.
 */
export class KeylessLooks {
  private readonly looks = new Map<string, Look>();

  /** @param now Milliseconds of some clock that does not jump. */
  isDue(type: string, now = performance.now()): boolean {
    return (this.looks.get(type)?.nextAt ?? 0) <= now;
  }

  took(type: string, ms: number, found: number): void {
    this.looks.set(type, { nextAt: found > 0 ? 0 : performance.now() + ms * share });
  }
}
