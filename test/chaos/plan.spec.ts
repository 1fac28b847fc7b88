import { planHarm, type Reach } from './harm/plan.js';

const options = { seed: 7, durationMs: 120_000, workers: 3, producers: 2 };
const server: Reach = { hasNetwork: true, hasPower: true };
const file: Reach = { hasNetwork: false, hasPower: false };

describe('The plan of harm', () => {
  it('is the same for the same seed', () => {
    expect(planHarm(options, server)).toEqual(planHarm(options, server));
  });

  it('is another one for another seed', () => {
    expect(planHarm({ ...options, seed: 8 }, server)).not.toEqual(planHarm(options, server));
  });

  it('stays within its time and its crew', () => {
    for (const { at, target } of planHarm(options, server)) {
      expect(at).toBeLessThan(options.durationMs);
      expect(target).toBeLessThan(options.workers + options.producers);
    }
  });

  it('has each kind of harm for some worker, however short the run and whatever the seed', () => {
    const kinds = ['cut', 'deafen', 'freeze', 'kill', 'refuse', 'stall', 'stop', 'terminate'];
    for (const seed of [7, 87, 1, 2, 3, 4, 5, 6]) {
      const short = { ...options, seed, durationMs: 15_000 };
      const plan = planHarm(short, { ...server, hasPower: false });

      const met = plan.filter(({ target }) => target < options.workers).map(({ what }) => what);
      expect([...new Set(met)].toSorted()).toEqual(kinds);
      expect(plan.every(({ at }) => at < short.durationMs)).toBe(true);
    }
  });

  it('restarts a server of ours each minute, once in good order and once not', () => {
    const restarts = planHarm(options, server).filter(({ what }) => what === 'restart' || what === 'crash');

    expect(restarts.map(({ what }) => what).toSorted()).toEqual(['crash', 'crash', 'restart', 'restart']);
  });

  it('has harm for a file where there is no network', () => {
    const kinds = new Set(planHarm(options, file).map(({ what }) => what));

    expect([...kinds].toSorted()).toEqual(['kill', 'lock', 'stop', 'terminate']);
  });
});
