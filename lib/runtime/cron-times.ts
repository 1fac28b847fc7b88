import { show } from '../model/check.js';
import { InvalidOptionError, MissingPackageError } from '../model/errors.js';
import { describeError } from '../model/failure.js';
import { zoneOffset } from '../model/zone-offset.js';
import { ZonedSlots, type SlotSeries, type WallSeries } from '../model/zoned-slots.js';

/** What is used of the package `cron`. */
interface CronLibrary {
  readonly CronTime: new (cron: string, timeZone: string) => CronExpression;
  readonly CronJob: {
    from(options: { cronTime: string; onTick: () => void; start: boolean; timeZone: string }): object;
  };
}

interface CronExpression {
  getNextDateFrom(start: Date, timeZone: string): { toMillis(): number };
  /** By unit: second, minute, hour and so on; '*' for one that is left open. */
  toJSON(): readonly string[];
}

/** A cron expression and the zone in which it is read. */
export interface CronRule {
  readonly cron: string;
  readonly timeZone: string;
}

/** The times of cron expressions, read by the library of `@nestjs/schedule`, which is loaded when the first schedule is there. */
export class CronTimes {
  private library: Promise<CronLibrary> | undefined;
  private readonly known = new Map<string, SlotSeries>();

  /**
   * The slots of a schedule.
   *
   * @param source Whose it is, for messages.
   * @throws InvalidOptionError for a cron expression that cannot be read or never comes true, and for a zone that there is none;
   *   MissingPackageError.
   */
  async seriesOf({ cron, timeZone }: CronRule, source: string): Promise<SlotSeries> {
    const key = `${timeZone}\n${cron}`;
    const present = this.known.get(key);
    if (present !== undefined) return present;
    const series = readSeries(await this.load(), { cron, timeZone }, source);
    this.known.set(key, series);
    return series;
  }

  /** A CronJob that is never started: to be looked at. @throws MissingPackageError */
  async showcase({ cron, timeZone }: CronRule): Promise<object> {
    const { CronJob } = await this.load();
    return CronJob.from({ cronTime: cron, onTick: () => undefined, start: false, timeZone });
  }

  private load(): Promise<CronLibrary> {
    this.library ??= loadCron().catch((cause: unknown) => {
      this.library = undefined;
      throw new MissingPackageError(
        "schedules need the package 'cron', which comes with @nestjs/schedule: npm install @nestjs/schedule",
        { cause },
      );
    });
    return this.library;
  }
}

async function loadCron(): Promise<CronLibrary> {
  try {
    return await import('cron');
  } catch (error) {
    const { cronOfSchedule } = await import('./cron-of-schedule.cjs');
    try {
      return cronOfSchedule() as CronLibrary;
    } catch {
      throw error;
    }
  }
}

/** The library is asked about a clock on a wall in UTC, where no hour is left out or comes twice; the zone is our part. */
function readSeries({ CronTime }: CronLibrary, { cron, timeZone }: CronRule, source: string): SlotSeries {
  const offsetAt = zoneOffset(`${source}: timeZone`, timeZone);
  const expression = parse(CronTime, cron, source);
  const walls: WallSeries = {
    isEveryHour: expression.toJSON()[2] === '*',
    next: (after) => {
      try {
        return expression.getNextDateFrom(new Date(after), 'UTC').toMillis();
      } catch {
        // It looks eight years ahead.
        return undefined;
      }
    },
  };
  if (walls.next(Date.now()) === undefined) {
    throw new InvalidOptionError(
      `${source}: cron must come true some day, and ${show(cron)} does not in the next 8 years; mind the day and the month`,
    );
  }
  return new ZonedSlots(walls, offsetAt);
}

function parse(make: CronLibrary['CronTime'], cron: string, source: string): CronExpression {
  try {
    return new make(cron, 'UTC');
  } catch (cause) {
    const reason = cause instanceof Error ? ` (${describeError(cause)})` : '';
    throw new InvalidOptionError(
      `${source}: cron must be five fields, like '0 7 * * *', or six with seconds in front, got ${show(cron)}${reason}`,
      { cause },
    );
  }
}
