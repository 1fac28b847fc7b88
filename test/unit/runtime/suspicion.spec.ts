import { Suspicion } from '../../../lib/runtime/suspicion.js';

const minute = 60_000;

describe('Suspicion', () => {
  it('lets one suspect come at once, and the next after a while', () => {
    const suspicion = new Suspicion(0);
    expect(suspicion.isDue(0)).toBe(true);

    suspicion.asked(0);

    expect([0, 249, 250].map((now) => suspicion.isDue(now))).toEqual([false, false, true]);
  });

  it('says how long it is until then', () => {
    const suspicion = new Suspicion(0);

    suspicion.asked(1_000);

    expect([1_000, 1_200, 1_250].map((now) => suspicion.untilDueMs(now))).toEqual([250, 50, 0]);
  });

  it('wears off', () => {
    const suspicion = new Suspicion(0);

    expect([minute, minute + 1].map((now) => suspicion.isAwake(now))).toEqual([true, false]);
    expect([minute, minute + 1].map((now) => suspicion.isDue(now))).toEqual([true, false]);
  });

  it('comes back with each suspect', () => {
    const suspicion = new Suspicion(0);

    suspicion.saw(2 * minute);

    expect([3 * minute, 3 * minute + 1].map((now) => suspicion.isAwake(now))).toEqual([true, false]);
  });
});
