import { jest } from '@jest/globals';
import { validate, version } from 'uuid';
import { JobIds } from '../../../lib/queues/job-ids.js';

describe('JobIds', () => {
  afterEach(() => jest.restoreAllMocks());

  it('makes UUIDs of version 7, each above the one before', () => {
    const ids = new JobIds();
    const made = Array.from({ length: 20_000 }, () => ids.next());

    expect(made.every((id) => validate(id) && version(id) === 7)).toBe(true);
    expect(made.every((id, index) => index === 0 || id > (made[index - 1] ?? ''))).toBe(true);
  });

  it('goes on upwards when the time of day is set back', () => {
    const ids = new JobIds();
    const now = jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
    const before = ids.next();
    now.mockReturnValue(1_700_000_000_000);

    expect(ids.next() > before).toBe(true);
    now.mockReturnValue(1_800_000_000_001);
    expect(ids.next() > before).toBe(true);
  });

  it('shares nothing between two makers', () => {
    const [a, b] = [new JobIds(), new JobIds()];
    const made = new Set(Array.from({ length: 2_000 }, (_, index) => (index % 2 === 0 ? a : b).next()));

    expect(made.size).toBe(2_000);
  });
});
