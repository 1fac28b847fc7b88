import { SchemaError } from '../../../lib/model/errors.js';
import { forEachDatabase } from '../../support/databases.js';
import { StoreRig } from '../../support/store-rig.js';

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.clear());

    it('a file that may only be read is told from a role without rights', async () => {
      await (await database.connect()).query('CREATE TABLE users (name TEXT NOT NULL)');

      const opening = rig.openOn(await database.connect({ readonly: true }));

      await expect(opening).rejects.toThrow(SchemaError);
      await expect(opening).rejects.toThrow('the SQLite database is read-only');
    });
  },
  ['sqlite-file'],
);
