import { Flow } from '../../../lib/runtime/flow.js';
import type { ClaimRequest } from '../../../lib/stores/job-store.js';

const claim = (limit: number, more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  types: undefined,
  owner: 'ada',
  leaseMs: 1_000,
  limit,
  ...more,
});

/** One whose last claim came back full. */
function flowing(lanes = 2): Flow {
  const flow = new Flow(() => lanes);
  flow.sent(claim(1_000));
  flow.answered(claim(1_000), 1_000);
  return flow;
}

describe('Flow', () => {
  it('asks for what there is room for, one claim at a time, until a claim comes back full', () => {
    const flow = new Flow(() => 2);

    expect(flow.limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(1_004);
    expect(flow.limit({ free: -400, waiting: 400, ahead: 1_000 })).toBe(600);
    expect(flow.limit({ free: -600, waiting: 600, ahead: 1_000 })).toBe(0);
    expect(flow.isOn).toBe(false);
    expect(flowing().isOn).toBe(true);
  });

  it('then asks for half at a time, and for no more than there is room for beside what is on its way', () => {
    const flow = flowing();

    expect(flow.limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(500);
    flow.sent(claim(500));
    expect(flow.limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(500);
    flow.sent(claim(500));
    expect(flow.limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(0);
    flow.answered(claim(500), 500);
    expect(flow.limit({ free: -496, waiting: 500, ahead: 1_000 })).toBe(0);
    expect(flow.limit({ free: -196, waiting: 200, ahead: 1_000 })).toBe(304);
  });

  it.each([
    ['did not come back full', claim(1_000), 999],
    ['was small', claim(99), 99],
    ['failed', claim(1_000), undefined],
    ['had limits of types', claim(1_000, { caps: { mail: 1_000 } }), 1_000],
  ])('goes back to one at a time when a claim %s', (_what, request, claimed) => {
    const flow = flowing();

    flow.sent(request);
    flow.answered(request, claimed);

    expect(flow.isOn).toBe(false);
    expect(flow.limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(1_004);
  });

  it('stays at one where the store does one at a time, and where little is wanted ahead', () => {
    expect(flowing(1).isOn).toBe(false);
    expect(flowing(1).limit({ free: 4, waiting: 0, ahead: 1_000 })).toBe(1_004);
    expect(flowing().limit({ free: 4, waiting: 0, ahead: 150 })).toBe(154);
  });
});
