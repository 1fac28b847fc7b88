import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { DataSource } from 'typeorm';
import { PersistentJobQueue } from '../lib/queues/persistent-job-queue.js';
import { createJobs } from '../lib/stores/typeorm/migrations/0001-create-jobs.js';
import { suffixesBeside } from '../lib/stores/typeorm/migrations/schema-plan.js';
import * as errors from '../lib/model/errors.js';
import { jobEventKinds } from '../lib/model/job-event.js';
import { Page, projectRoot, readPages } from './support/markdown.js';

/** The links of a page that lead nowhere: to a file that is not there, or to a heading that its page does not have. */
function brokenLinks(page: Page): readonly string[] {
  return page
    .links()
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page.path : normalize(join(dirname(page.path), path));
      if (!existsSync(join(projectRoot, target))) return true;
      return anchor !== undefined && !new Page(target).anchors().includes(anchor);
    })
    .map((link) => `${page.path}: ${link}`);
}

/** Class and code of every error that the library can throw. */
function errorCodes(): readonly string[] {
  return Object.values(errors)
    .filter((value) => value !== errors.JobsError)
    .map((value) => {
      const made = Reflect.construct(value, ['timeout', 'message']) as errors.JobsError;
      return `${made.name} ${made.code}`;
    });
}

describe('the documentation', () => {
  it('links only to what is there', () => {
    expect(readPages().flatMap(brokenLinks)).toEqual([]);
  });

  it('is linked to from the README, page by page', () => {
    const linked = new Page('README.md').links().map((link) => link.split('#')[0]);

    expect(linked).toEqual(
      expect.arrayContaining(
        readPages()
          .map(({ path }) => path)
          .filter(isPageOfDocs),
      ),
    );
  });

  it('lists every error with its code', () => {
    const rows = new Page('docs/errors.md').table('# Errors');
    const listed = rows.map(([name, code]) => `${name} ${code}`.replaceAll('`', ''));

    expect(listed.toSorted()).toEqual(errorCodes().toSorted());
  });

  it('lists every column of the job table, and says which databases have it', () => {
    const rows = new Page('docs/databases.md').table('## The table');
    const listed = rows.flatMap(([names = '', meaning = '']) =>
      wordsOf(names).map((name) => (meaning.startsWith('MySQL, MariaDB:') ? `${name} of MySQL` : name)),
    );

    expect(listed.toSorted()).toEqual(
      createJobs.columns
        .map(({ name, definition }) => (definition.sqlite === undefined ? `${name} of MySQL` : name))
        .toSorted(),
    );
  });

  it('lists every index of the job table, and says which databases have it', () => {
    const rows = new Page('docs/databases.md').table('Its indexes, besides the primary key:');
    const listed = rows.flatMap(([names = '', meaning = '']) =>
      wordsOf(names).map((name) => (meaning.endsWith('; PostgreSQL, SQLite') ? `${name}, not MySQL` : name)),
    );

    expect(listed.toSorted()).toEqual(
      createJobs.indexes
        .map(({ suffix, definition }) => `rws_jobs_${suffix}${definition.mysql === undefined ? ', not MySQL' : ''}`)
        .toSorted(),
    );
  });

  it('lists every table beside the job table', () => {
    const rows = new Page('docs/databases.md').table('Beside it lie:');

    expect(rows.flatMap(([names = '']) => wordsOf(names)).toSorted()).toEqual(
      [...suffixesBeside, 'schema'].map((suffix) => `rws_jobs_${suffix}`).toSorted(),
    );
  });

  it('lists every field of the records that it hands out', async () => {
    const dataSource = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize();
    const queue = await PersistentJobQueue.create(dataSource);
    const job = await queue.find(await queue.enqueue('x', 1), { payload: true });
    await queue.schedules.set('s', { type: 'x', cron: '0 7 * * *' });
    const schedule = await queue.schedules.find('s');
    await queue.close();
    await dataSource.destroy();
    const listed = (page: string, heading: string): readonly string[] =>
      new Page(page).table(heading).flatMap(([names = '']) => wordsOf(names));

    expect(listed('docs/admin.md', '### What `find` and `list` tell').toSorted()).toEqual(
      [...Object.keys(job ?? {}), 'payloadError', 'result'].toSorted(),
    );
    expect(listed('docs/schedules.md', '### What `list` and `find` tell').toSorted()).toEqual(
      Object.keys(schedule ?? {}).toSorted(),
    );
  });

  it('lists every kind of event', () => {
    const listed = new Page('docs/events.md').table('## What is told').map(([kind = '']) => kind.replaceAll('`', ''));

    expect(listed.toSorted()).toEqual(jobEventKinds.toSorted());
  });
});

/** What stands in code quotes. */
function wordsOf(cell: string): readonly string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(({ 1: word = '' }) => word);
}

function isPageOfDocs(path: string): boolean {
  return path.startsWith('docs/');
}
