import { ProcessIdentity } from '../runtime/process-identity.js';
import type { AdministeredStore } from '../stores/job-store.js';
import { InsertBatcher } from './insert-batcher.js';

/** What a queue has once its store is open. */
export interface OpenedStore {
  readonly store: AdministeredStore;
  readonly batcher: InsertBatcher;
  readonly identity: ProcessIdentity;
}

/** Opens a store; closes it again where that fails. */
export async function openedStore(make: () => Promise<AdministeredStore>): Promise<OpenedStore> {
  const store = await make();
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return { store, batcher: new InsertBatcher(store), identity: await ProcessIdentity.create() };
}
