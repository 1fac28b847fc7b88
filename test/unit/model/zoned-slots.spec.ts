import fc from 'fast-check';
import { CronTimes } from '../../../lib/runtime/cron-times.js';
import type { SlotSeries } from '../../../lib/model/zoned-slots.js';

const times = new CronTimes();

function series(cron: string, timeZone = 'Europe/Berlin'): Promise<SlotSeries> {
  return times.seriesOf({ cron, timeZone }, 'the test');
}

/** All slots of a span, as `MM-DD HH:MM` in UTC. */
function slotsBetween(slots: SlotSeries, from: string, until: string): readonly string[] {
  const found: string[] = [];
  for (
    let slot = slots.next(Date.parse(from));
    slot !== undefined && slot <= Date.parse(until);
    slot = slots.next(slot)
  )
    found.push(new Date(slot).toISOString().slice(5, 16).replace('T', ' '));
  return found;
}

describe('the slots of a schedule', () => {
  it('follow the wall clock of their zone', async () => {
    const slots = await series('0 7 * * *');

    expect(slotsBetween(slots, '2026-03-27T00:00Z', '2026-03-31T00:00Z')).toEqual([
      '03-27 06:00',
      '03-28 06:00',
      '03-29 05:00',
      '03-30 05:00',
    ]);
  });

  it('fire at the switch, once, for times that the spring leaves out', async () => {
    const spring = ['2026-03-28T22:00Z', '2026-03-29T22:00Z'] as const;

    expect(slotsBetween(await series('30 2 * * *'), ...spring)).toEqual(['03-29 01:00']);
    expect(slotsBetween(await series('15,30 2 * * *'), ...spring)).toEqual(['03-29 01:00']);
    expect(slotsBetween(await series('30 1-3 * * *'), ...spring)).toEqual([
      '03-29 00:30',
      '03-29 01:00',
      '03-29 01:30',
    ]);
    expect(slotsBetween(await series('0 3 * * *'), ...spring)).toEqual(['03-29 01:00']);
  });

  it('fire the first time, once, for times that come twice in autumn', async () => {
    const autumn = ['2026-10-24T21:00Z', '2026-10-25T22:00Z'] as const;

    expect(slotsBetween(await series('30 2 * * *'), ...autumn)).toEqual(['10-25 00:30']);
    expect(slotsBetween(await series('30 2,3 * * *'), ...autumn)).toEqual(['10-25 00:30', '10-25 02:30']);
    expect(slotsBetween(await series('0 */2 * * *'), '2026-10-24T23:00Z', '2026-10-25T04:00Z')).toEqual([
      '10-25 00:00',
      '10-25 03:00',
    ]);
  });

  it('keep their pace through both switches where they name no hours', async () => {
    const half = await series('*/30 * * * *');

    expect(slotsBetween(half, '2026-10-25T00:00Z', '2026-10-25T02:00Z')).toEqual([
      '10-25 00:30',
      '10-25 01:00',
      '10-25 01:30',
      '10-25 02:00',
    ]);
    expect(slotsBetween(half, '2026-03-29T00:00Z', '2026-03-29T02:00Z')).toEqual([
      '03-29 00:30',
      '03-29 01:00',
      '03-29 01:30',
      '03-29 02:00',
    ]);
  });

  it('do the same in zones whose switch is half an hour, and at midnight', async () => {
    const lordHowe = await series('45 1 * * *', 'Australia/Lord_Howe');
    const havana = await series('30 0 * * *', 'America/Havana');

    expect(slotsBetween(lordHowe, '2026-04-03T00:00Z', '2026-04-06T00:00Z')).toEqual([
      '04-03 14:45',
      '04-04 14:45',
      '04-05 15:15',
    ]);
    expect(slotsBetween(havana, '2026-10-31T00:00Z', '2026-11-03T00:00Z')).toEqual([
      '10-31 04:30',
      '11-01 04:30',
      '11-02 05:30',
    ]);
  });

  it('are the same wherever one starts to look, whole seconds and always later', async () => {
    const crons = ['30 2 * * *', '*/15 * * * *', '0 1,2,3 * * *', '30 2,3 * * *', '0 0 * * 0', '15 30 2 25 10 *'];
    const all = await Promise.all(crons.map((cron) => series(cron)));
    const switches = [
      Date.parse('2026-03-29T01:00Z'),
      Date.parse('2026-10-25T01:00Z'),
      Date.parse('2026-07-01T00:00Z'),
    ];

    fc.assert(
      fc.property(
        fc.constantFrom(...all),
        fc.constantFrom(...switches),
        fc.integer({ min: -10_000_000, max: 10_000_000 }),
        fc.integer({ min: 0, max: 7_200_000 }),
        (slots, around, offset, later) => {
          const start = around + offset;
          const slot = slots.next(start) ?? 0;

          expect(slot).toBeGreaterThan(start);
          expect(slot % 1_000).toBe(0);
          expect(slots.next(Math.min(start + later, slot - 1))).toBe(slot);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('a cron expression', () => {
  it.each([
    ['', /five fields/],
    ['61 * * * *', /five fields.*'61 \* \* \* \*'.*out of range/],
    ['* * *', /five fields.*Too few/],
    ['0 0 31 2 *', /'0 0 31 2 \*' does not in the next 8 years/],
    ['every day', /five fields.*'every day'/],
  ])("is refused when it is '%s'", async (cron, message) => {
    await expect(series(cron)).rejects.toMatchObject({
      code: 'JOBS_INVALID_OPTION',
      message: expect.stringMatching(message),
    });
  });

  it('is refused in a zone that there is none', async () => {
    await expect(series('0 7 * * *', 'Mars/Olympus')).rejects.toThrow(
      "the test: timeZone must be the name of a time zone, like 'Europe/Berlin' or 'UTC', got 'Mars/Olympus'",
    );
  });

  it('may be one that comes true on leap days only', async () => {
    const slots = await series('0 0 29 2 *', 'UTC');

    expect(new Date(slots.next(Date.parse('2026-01-01')) ?? 0).toISOString()).toBe('2028-02-29T00:00:00.000Z');
  });
});
