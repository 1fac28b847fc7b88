import { Flow, isFull, mostCharacters } from '../../../lib/runtime/flow.js';
import type { ClaimedJob } from '../../../lib/model/job.js';
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

  it('leaves as much room for payloads as those do that wait here or are on their way', () => {
    const flow = new Flow(() => 1);

    expect(flow.room(0)).toBe(mostCharacters);
    expect(flow.room(1_000_000)).toBe(mostCharacters - 1_000_000);
    flow.sent(claim(4, { room: 2_000_000 }));
    expect(flow.room(1_000_000)).toBe(mostCharacters - 3_000_000);
    flow.answered(claim(4, { room: 2_000_000 }), 4);
    expect(flow.room(1_000_000)).toBe(mostCharacters - 1_000_000);
  });

  it('has no room where a large payload might not fit any more', () => {
    const flow = new Flow(() => 1);

    expect(flow.room(mostCharacters - 4_194_304)).toBe(4_194_304);
    expect(flow.room(mostCharacters - 4_194_303)).toBe(0);
    expect(flow.room(2 * mostCharacters)).toBe(0);
  });

  it('shares the room between two exchanges', () => {
    const flow = flowing();
    const half = mostCharacters / 2;

    expect(flow.room(0)).toBe(half);
    flow.sent(claim(500, { room: half }));
    expect(flow.room(0)).toBe(half);
    flow.sent(claim(500, { room: half }));
    expect(flow.room(0)).toBe(0);
  });
});

describe('isFull', () => {
  const jobs = [{ payload: 'x'.repeat(3_000_000) }, { payload: '{}' }] as unknown as readonly ClaimedJob[];

  it.each([
    ['it brought as many jobs as it was for', { limit: 2, room: mostCharacters }, true],
    ['it brought fewer', { limit: 3, room: mostCharacters }, false],
    ['it brought fewer, and another payload might not have fitted', { limit: 3, room: 7_000_000 }, true],
    ['there was room for any number', { limit: 3 }, false],
  ])('says whether a claim may have left jobs behind: %s', (_what, asked, expected) => {
    expect(isFull(jobs, asked)).toBe(expected);
  });

  it('says of a claim that brought nothing that there was nothing', () => {
    expect(isFull([], { limit: 3, room: 10 })).toBe(false);
  });
});
