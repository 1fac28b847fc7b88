import { createRequire } from 'node:module';

/**
 * A package in the very copy that the library uses: raw SQL should not run on another version of a driver, and two copies of SQLite in
 * one process would undo each other's file locks.
 */
export const libraryCopy = createRequire(new URL('../../package.json', import.meta.url));
