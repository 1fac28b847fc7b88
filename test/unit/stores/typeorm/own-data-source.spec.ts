import type { DataSource } from 'typeorm';
import { closeOwnDataSource } from '../../../../lib/stores/typeorm/own-data-source.js';

/** A DataSource of which nothing is known but how its end goes. */
function dataSource(destroy: () => Promise<void>): DataSource {
  return { destroy } as unknown as DataSource;
}

describe('closeOwnDataSource', () => {
  it('counts connections that break over it as closed', async () => {
    const breaking = dataSource(() => Promise.reject(new Error('the server closed the connection')));

    await expect(closeOwnDataSource(breaking)).resolves.toBeUndefined();
  });

  it('does not wait for one that never opens', async () => {
    await expect(closeOwnDataSource(new Promise(() => undefined))).resolves.toBeUndefined();
  });
});
