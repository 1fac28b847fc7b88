import { QueueClosedError, QueueFullError } from '../model/errors.js';

/** How much a memory queue takes still. */
export interface MemoryRoom {
  readonly isClosed: boolean;
  /** Jobs that wait by now. */
  readonly waiting: number;
  readonly maxQueued: number;
}

/** @param count Jobs that are to be taken at once. @throws QueueClosedError | QueueFullError */
export function checkRoom({ isClosed, waiting, maxQueued }: MemoryRoom, count: number): void {
  if (isClosed) throw new QueueClosedError('the memory queue was joined or stopped and takes no more jobs');
  if (waiting + count > maxQueued) {
    throw new QueueFullError(
      `the memory queue holds ${waiting} waiting jobs, its limit (maxQueued) is ${maxQueued}; ` +
        'slow down, raise the limit, or use the persistent queue',
    );
  }
}
