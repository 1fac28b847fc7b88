import { Suspicion } from '../../../lib/runtime/suspicion.js';

const minute = 60_000;

describe('Suspicion', () => {
  it('lets one job come whatever it is, then innocent ones for a while, then one again', () => {
    const suspicion = new Suspicion(0);

    expect([0, 1, 249, 250, 251].map((now) => suspicion.next(now))).toEqual([
      'one',
      'innocent',
      'innocent',
      'one',
      'innocent',
    ]);
  });

  it('wears off', () => {
    const suspicion = new Suspicion(0);

    expect([minute, minute + 1].map((now) => suspicion.next(now))).toEqual(['one', 'anything']);
  });

  it('comes back with each suspect', () => {
    const suspicion = new Suspicion(0);
    expect(suspicion.next(2 * minute)).toBe('anything');

    suspicion.saw(2 * minute);

    expect(suspicion.next(3 * minute)).toBe('one');
  });

  it('says how long until a suspect may come', () => {
    const suspicion = new Suspicion(0);
    expect(suspicion.untilNextMs(0)).toBe(-Infinity);

    suspicion.next(1_000);

    expect([1_000, 1_200, 1_250].map((now) => suspicion.untilNextMs(now))).toEqual([250, 50, 0]);
  });
});
