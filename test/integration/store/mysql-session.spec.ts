import { MysqlConnections, say } from '../../../lib/stores/typeorm/dialects/mysql-pool.js';
import { closeOwnDataSource, openOwnDataSource } from '../../../lib/stores/typeorm/own-data-source.js';
import { forEachDatabase } from '../../support/databases.js';

/** As a server's own settings would have it for every connection. */
const forbidding =
  "SET SESSION sql_safe_updates = 1, SESSION sql_select_limit = 10, SESSION max_join_size = 100, SESSION completion_type = 'RELEASE'";

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

    it('what a server forbids to people who type is no trouble to us', async () => {
      const own = await openOwnDataSource(await database.connect(), 1);
      await own.query(forbidding);
      const connections = new MysqlConnections(own);
      await connections.use((connection) => say(connection, 'CREATE TABLE grown (id INT PRIMARY KEY, n INT)'));
      const rows = Array.from({ length: 40 }, (_row, id) => `(${id}, 0)`).join();
      await connections.transaction((connection) => say(connection, `INSERT INTO grown VALUES ${rows}`));

      const written = await connections.transaction((connection) =>
        say(connection, 'UPDATE grown SET n = 1 WHERE n = 0'),
      );
      const read = await connections.use((connection) =>
        say(connection, 'SELECT a.id FROM grown AS a JOIN grown AS b ON a.n + 0 = b.n + 0'),
      );
      await connections.use((connection) => say(connection, 'DROP TABLE grown'));
      await closeOwnDataSource(own);

      expect([written.affected, read.rows.length]).toEqual([40, 1_600]);
    });
  },
  ['mysql'],
);
