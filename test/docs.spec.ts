import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
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

  it('lists every kind of event', () => {
    const listed = new Page('docs/events.md').table('## What is told').map(([kind = '']) => kind.replaceAll('`', ''));

    expect(listed.toSorted()).toEqual(jobEventKinds.toSorted());
  });
});

function isPageOfDocs(path: string): boolean {
  return path.startsWith('docs/');
}
