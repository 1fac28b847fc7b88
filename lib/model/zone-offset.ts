import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** By how many milliseconds the clocks of a zone are ahead of UTC at a moment. */
export type OffsetAt = (ms: number) => number;

/**
 * The offsets of a zone, as this Node knows them.
 *
 * @param option For messages.
 * @throws InvalidOptionError when there is no such zone.
 */
export function zoneOffset(option: string, timeZone: string): OffsetAt {
  const format = formatOf(option, timeZone);
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
    return wall - Math.floor(ms / 1_000) * 1_000;
  };
}

function formatOf(option: string, timeZone: string): Intl.DateTimeFormat {
  try {
    const numeric = 'numeric' as const;
    const date = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric };
    return new Intl.DateTimeFormat('en-US', { timeZone, calendar: 'gregory', hourCycle: 'h23', ...date });
  } catch (cause) {
    throw new InvalidOptionError(
      `${option} must be the name of a time zone, like 'Europe/Berlin' or 'UTC', got ${show(timeZone)}`,
      { cause },
    );
  }
}
