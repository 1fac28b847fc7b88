import { Child, killChildren } from '../support/child.js';
import { forEachDatabase } from '../support/databases.js';
import { projectRoot } from '../support/markdown.js';

forEachDatabase(
  (database) => {
    let output = '';

    beforeAll(async () => {
      const args = ['--expose-gc', '.children/test/integration/apps/many-jobs.app.js'];
      const env = { ...process.env, NODE_OPTIONS: '', DATA_SOURCE: JSON.stringify(database.options()) };
      const child = new Child(args, { cwd: projectRoot, env });
      await child.ended;
      output = child.output;
    }, 180_000);

    afterAll(async () => {
      killChildren();
      await database.clear();
    });

    it('nothing is kept of jobs that have ended', () => {
      const grown = /grown by (-?\d+) KiB/.exec(output)?.[1];

      expect(Number(grown)).toBeLessThan(5 * 1_024);
    });

    it('Node has nothing to warn of', () => {
      expect(output).not.toContain('warning');
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
