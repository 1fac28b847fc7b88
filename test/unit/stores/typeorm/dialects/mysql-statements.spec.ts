import { inList, insertStatement } from '../../../../../lib/stores/typeorm/dialects/mysql-statements.js';
import { someJobs } from '../../../../support/a-job.js';

describe('inList', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [5, 8],
    [1_000, 1_024],
  ])('of %i values has %i marks, so that few texts are prepared', (count, marks) => {
    const values = Array.from({ length: count }, (_, index) => `v${index}`);

    const list = inList(values);

    expect(list.marks.split(', ')).toHaveLength(marks);
    expect(list.values).toHaveLength(marks);
    expect(new Set(list.values)).toEqual(new Set(values));
  });

  it('of no values is no broken SQL', () => {
    expect(inList([])).toEqual({ marks: '?', values: [''] });
  });
});

describe('insertStatement', () => {
  it('has a mark for each value', () => {
    const { text, values } = insertStatement('jobs', someJobs(3), { binding: 'text' });

    expect(text.split('?')).toHaveLength(values.length + 1);
  });

  it("sends text as bytes over a connection of the app's", () => {
    const { values } = insertStatement('jobs', someJobs(1, { payload: '"🎉"' }), { binding: 'bytes' });

    expect(values.filter((value) => Buffer.isBuffer(value)).map(String)).toEqual(['work', '"🎉"']);
  });
});
