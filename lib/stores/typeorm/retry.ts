/** A statement that lost a race against others is worth this many more tries; each of them races afresh. */
const mostRetries = 12;
const firstPauseMs = 5;
const longestPauseMs = 400;

/**
 * Says a statement again that the database refused for a passing reason (a deadlock, a serialization failure), after a random and
 * growing pause, so that those who collided do not collide again.
 *
 * @param isPassing Says of an error whether nothing has happened and the same may succeed later.
 */
export async function retryPassing<T>(isPassing: (error: unknown) => boolean, run: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await run();
    } catch (error) {
      if (retries === mostRetries || !isPassing(error)) throw error;
      await pause(Math.random() * Math.min(firstPauseMs * 2 ** retries, longestPauseMs));
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A string or number that an error carries under this name, such as `code` or `errno`. */
export function errorField(error: unknown, name: string): string | number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

/** The SQLSTATE that a server's own answer has as its `code`. EPIPE, of the system, has five characters as well; no class begins with E. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = errorField(error, 'code');
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
