import { randomUUID } from 'node:crypto';

const mostInMs = 4_096;
let ms = 0;
let count = 0;

/** A time-ordered key (UUID v7): milliseconds, a counter within them, and the random end of a UUID that Node makes from its pool. */
export function uuidv7() {
  const now = Date.now();
  if (now > ms) [ms, count] = [now, 0];
  else if (++count === mostInMs) [ms, count] = [ms + 1, 0];
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`;
}
