import { MissingDataSourceError } from '../model/errors.js';
import type { AdministeredStore } from './job-store.js';
import type { TypeOrmStoreSettings } from './typeorm/connect.js';

/**
 * Makes the store over a TypeORM DataSource. TypeORM is loaded here and not before, so that the library works without it.
 *
 * @throws MissingDataSourceError when TypeORM is not installed.
 */
export async function openTypeOrmStore(
  dataSource: unknown,
  settings: TypeOrmStoreSettings,
): Promise<AdministeredStore> {
  const { createTypeOrmStore } = await loadTypeOrmStore();
  return createTypeOrmStore(dataSource, settings);
}

async function loadTypeOrmStore(): Promise<typeof import('./typeorm/connect.js')> {
  try {
    return await import('./typeorm/connect.js');
  } catch (cause) {
    if (!isWithoutTypeOrm(cause)) throw cause;
    const message =
      'the persistent queue needs TypeORM: install typeorm, or set persistent: false to use the memory queue alone';
    throw new MissingDataSourceError(message, { cause });
  }
}

/** Whether it is TypeORM itself that cannot be found; anything else that keeps the module from loading is said as it is. */
function isWithoutTypeOrm(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const code: unknown = 'code' in error ? error.code : undefined;
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isMissing && /'typeorm'/.test(String('message' in error ? error.message : ''));
}
