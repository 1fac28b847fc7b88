import { chunksOf } from '../../../../lib/stores/typeorm/chunks.js';
import { aJob, someJobs } from '../../../support/a-job.js';

describe('chunksOf', () => {
  const limits = { jobs: 3, characters: 10 };

  it('keeps what fits together', () => {
    const jobs = someJobs(3, { payload: 'xxx' });

    expect(chunksOf(jobs, limits)).toEqual([jobs]);
  });

  it('cuts at the number of jobs', () => {
    expect(chunksOf(someJobs(7, { payload: '' }), limits).map(({ length }) => length)).toEqual([3, 3, 1]);
  });

  it('cuts at the size of the payloads', () => {
    const sizes = [4, 4, 4, 10, 1];
    const jobs = sizes.map((size) => aJob({ payload: 'x'.repeat(size) }));

    expect(chunksOf(jobs, limits).map((chunk) => chunk.map(({ payload }) => payload.length))).toEqual([
      [4, 4],
      [4],
      [10],
      [1],
    ]);
  });

  it('lets a job that is too large travel alone', () => {
    const jobs = [aJob({ payload: 'x' }), aJob({ payload: 'x'.repeat(99) }), aJob({ payload: 'x' })];

    expect(chunksOf(jobs, limits).map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('makes nothing of nothing', () => {
    expect(chunksOf([], limits)).toEqual([]);
  });
});
