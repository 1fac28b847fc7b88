import { availableParallelism } from 'node:os';
import { swcOptions } from './scripts/swc-options.mjs';

/**
 * Jest runs the TypeScript sources as ES modules: SWC strips the types and writes the decorator metadata that Nest's
 * injection needs. Jest has to be started with `--experimental-vm-modules`; scripts/test.mjs does that.
 */
export default {
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/consumers/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/test/consumers/', '<rootDir>/sample-app/dist/'],
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // The package's own doors, as a user names them, lead to the sources: tests need no build.
    '^nestjs-jobs$': '<rootDir>/lib/index.ts',
    '^nestjs-jobs/testing$': '<rootDir>/lib/testing/index.ts',
    '^nestjs-jobs/typeorm$': '<rootDir>/lib/stores/typeorm/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: { '\\.ts$': ['@swc/jest', swcOptions] },
  // The slowest tests wait for a database, for a lease or for a child process; a hung one should still be named soon.
  testTimeout: 60_000,
  // They wait for servers, leases and child processes more than they work.
  maxWorkers: availableParallelism() * 2,
  reporters: ['default', '<rootDir>/scripts/summary-reporter.mjs'],
};
