import { MysqlConnections, say } from '../../../lib/stores/typeorm/dialects/mysql-pool.js';
import { closeOwnDataSource, openOwnDataSource } from '../../../lib/stores/typeorm/own-data-source.js';
import { forEachDatabase } from '../../support/databases.js';

forEachDatabase(
  (database) => {
    afterEach(() => database.clear());

    it('MariaDB ends a transaction of ours that stands still, so that its locks are not in the way for hours', async () => {
      const own = await openOwnDataSource(await database.connect(), 1);
      const connections = new MysqlConnections(own);
      const variables = await connections.use((connection) => say(connection, 'SELECT VERSION() AS version'));
      const isMariadb = String(variables.rows[0]?.['version']).includes('MariaDB');

      const { rows } = await connections.use((connection) =>
        say(connection, "SHOW SESSION VARIABLES LIKE 'idle_transaction_timeout'"),
      );
      await closeOwnDataSource(own);

      expect(rows.map((row) => row['Value'])).toEqual(isMariadb ? ['15'] : []);
    });
  },
  ['mysql'],
);
