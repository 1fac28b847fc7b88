import { join } from 'node:path';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase } from '../support/databases.js';

const root = join(import.meta.dirname, '../..');

afterEach(killChildren);

// In a process of its own: the package is CommonJS, and Jest cannot let that require Nest, which is not.
forEachDatabase(
  (database) => {
    afterEach(() => database.empty());

    it('enqueue joins a transaction of @nestjs-cls/transactional by the option transaction', async () => {
      const child = new Child(['.children/test/integration/apps/cls-transactional.app.js'], {
        cwd: root,
        env: { ...process.env, NODE_OPTIONS: '', DATA_SOURCE: JSON.stringify(database.options()) },
      });

      expect(await child.ended).toEqual({ code: 0, signal: null });
      expect(child.output.trim().split('\n')).toEqual(['Error: rolled back', 'alone,commit']);
    });
  },
  ['sqlite-file', 'postgres'],
);
