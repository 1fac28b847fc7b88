/**
 * A transaction on a connection of the app's own, in which a handler, or a step of one, does its work. Whatever it wrote is committed together
 * with what the queue writes about the job, and only while the claim on the job stands.
 *
 * @typeParam W What the queue writes.
 */
export interface JobTransaction<W> {
  /** TypeORM's EntityManager of the transaction. Refuses everything once the transaction is over. */
  readonly manager: unknown;
  /** Calls something for which this is the transaction around it: what is enqueued there joins it. */
  run<T>(work: () => T): T;
  /** What the job has remembered; `undefined` where the claim on it does not stand any more. */
  recall(): Promise<{ readonly text: string | null } | undefined>;
  /**
   * Writes and commits. `false`: the claim is lost, nothing was committed, and the transaction is still to be rolled back.
   *
   * @throws what the database says; whether it was committed is then unknown.
   */
  commit(write: W): Promise<boolean>;
  /** Undoes it all. To be called when nobody works in it any more. Never throws. */
  rollback(): Promise<void>;
  /** The same while somebody may still work in it, who is refused from now on. Waits for no answer of the database. Never throws. */
  kill(): Promise<void>;
}
