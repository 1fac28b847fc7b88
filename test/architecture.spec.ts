import { parseSource, readLibrary, type SourceFile, type SourceImport } from './support/source-files.js';

/**
 * Which rooms a room may import from, itself aside; they stand from the top of the house to its ground. `stores` means the
 * seam files that lie in that folder itself, the stores behind them are rooms of their own. The front of the house, the
 * files of `lib/` itself, may import all of them but `stores/typeorm`; above it is only `testing`, which may import everything.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  /** See below. */
  testing: [],
  queues: ['admin', 'runtime', 'observe', 'execution', 'stores', 'stores/memory', 'handlers', 'model'],
  admin: ['runtime', 'stores', 'model'],
  runtime: ['execution', 'stores', 'handlers', 'model'],
  observe: ['execution', 'model'],
  execution: ['handlers', 'model'],
  handlers: ['model'],
  'stores/typeorm': ['stores', 'model'],
  'stores/memory': ['stores', 'model'],
  stores: ['model'],
  model: [],
};

/** The one file that names the TypeORM store: as a type, or on demand, so that the main door opens without TypeORM. */
const storeOpener = 'stores/open-typeorm-store.ts';

/** The files that know how Nest is built inside, besides the front of the house. */
const nestInsiders = [
  'handlers/enhanced-caller.ts',
  'handlers/handler-explorer.ts',
  'handlers/handler-host.ts',
  'handlers/listener-explorer.ts',
  'handlers/method-explorer.ts',
  'handlers/schedule-explorer.ts',
];

/** Packages that only some places may know. Node's own modules and `uuid` are free to all. */
const packagePlaces: Readonly<Record<string, (path: string) => boolean>> = {
  '@nestjs/core': (path) => isFront(path) || nestInsiders.includes(path),
  'class-transformer': (path) => path === 'handlers/class-check.ts',
  'class-validator': (path) => path === 'handlers/class-check.ts',
  cron: (path) => path === 'runtime/cron-times.ts',
  rxjs: (path) => path.startsWith('observe/') || path.startsWith('queues/'),
  '@nestjs/common': (path) => !path.startsWith('model/'),
  typeorm: (path) => path.startsWith('stores/typeorm/'),
};

const sqlStatement = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE (TABLE|INDEX)|ALTER TABLE|DROP TABLE)\s/;

function isFront(path: string): boolean {
  return !path.includes('/');
}

function roomOf(path: string): string {
  const folders = path.split('/').slice(0, -1);
  return folders[0] === 'stores' ? folders.slice(0, 2).join('/') : (folders[0] ?? 'front');
}

function importBreach(file: SourceFile, found: SourceImport): string | undefined {
  const breach = isInside(found.target) ? roomBreach(file.path, found) : packageBreach(file.path, found.target);
  return breach === undefined ? undefined : `${file.path} imports ${found.target}: ${breach}`;
}

function isInside(target: string): boolean {
  return /\.(ts|cjs)$/.test(target);
}

function roomBreach(path: string, { target, kind }: SourceImport): string | undefined {
  const from = roomOf(path);
  const to = roomOf(target);
  if (target === 'index.ts' || target.endsWith('/index.ts')) return 'doors are for users';
  if (from === to) return undefined;
  if (from === 'testing') return undefined;
  if (to === 'testing') return 'the testing kit is for tests';
  if (to === 'stores/typeorm') {
    return path === storeOpener && kind !== 'static' ? undefined : `${storeOpener} opens that store, on demand`;
  }
  if (from === 'front' || (target === 'jobs.options.ts' && kind === 'type')) return undefined;
  return mayImport[from]?.includes(to) === true ? undefined : `${from} may not import ${to}`;
}

function packageBreach(path: string, target: string): string | undefined {
  const name = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
  if (target.startsWith('node:') || name === 'uuid') return undefined;
  const isAllowed = packagePlaces[name];
  if (isAllowed === undefined) return `${name} is no package of this library`;
  return isAllowed(path) ? undefined : `${name} has no place here`;
}

function importBreaches(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) => file.imports.map((found) => importBreach(file, found))).filter((b) => b !== undefined);
}

function sqlBreaches(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(
      ({ path, strings }) => !path.startsWith('stores/typeorm/') && strings.some((text) => sqlStatement.test(text)),
    )
    .map(({ path }) => `${path} contains SQL`);
}

/** It is a syntax error in the CommonJS that ts-jest makes of an ES module. */
function importMetaBreaches(files: readonly SourceFile[]): readonly string[] {
  return files.filter(({ hasImportMeta }) => hasImportMeta).map(({ path }) => `${path} uses import.meta`);
}

/** The imports that close a circle, found by walking depth first. Types count too: a circle of types is a circle of thoughts. */
function circles(files: readonly SourceFile[]): readonly string[] {
  const targetsOf = new Map(files.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start !== -1) found.push([...above.slice(start), path].join(' -> '));
    if (start !== -1 || done.has(path)) return;
    for (const target of targetsOf.get(path) ?? []) walk(target, [...above, path]);
    done.add(path);
  };
  for (const { path } of files) walk(path, []);
  return found;
}

describe('the house', () => {
  const library = readLibrary();

  it('is read', () => {
    expect(library.map(({ path }) => path)).toContain('stores/job-store.ts');
  });

  it('has only rooms that the rules know', () => {
    const rooms = new Set(library.map(({ path }) => roomOf(path)));

    expect([...rooms].filter((room) => room !== 'front' && mayImport[room] === undefined)).toEqual([]);
  });

  it('imports only downwards, and packages only where they belong', () => {
    expect(importBreaches(library)).toEqual([]);
  });

  it('has no circles', () => {
    expect(circles(library)).toEqual([]);
  });

  it('keeps SQL in stores/typeorm', () => {
    expect(sqlBreaches(library)).toEqual([]);
  });

  it('can be rewritten as CommonJS, as Jest does', () => {
    expect(importMetaBreaches(library)).toEqual([]);
  });

  it('has no file above 300 lines', () => {
    expect(library.filter(({ lines }) => lines > 300).map(({ path }) => path)).toEqual([]);
  });
});

describe('the rules of the house', () => {
  it.each([
    ['model/job.ts', `import type { Worker } from '../runtime/worker.js'`, 'model may not import runtime'],
    ['model/job.ts', `import { Logger } from '@nestjs/common'`, '@nestjs/common has no place here'],
    [
      'runtime/worker.ts',
      `import { MemoryStore } from '../stores/memory/memory-store.js'`,
      'runtime may not import stores/memory',
    ],
    ['runtime/worker.ts', `export * from '../queues/job-queue.js'`, 'runtime may not import queues'],
    ['runtime/worker.ts', `import { x } from '../index.js'`, 'doors are for users'],
    ['runtime/worker.ts', `import { x } from '../jobs.options.js'`, 'runtime may not import front'],
    [
      'stores/memory/memory-store.ts',
      `import { x } from '../typeorm/job-row.js'`,
      'stores/open-typeorm-store.ts opens that store, on demand',
    ],
    [
      'jobs.module.ts',
      `const { open } = await import('./stores/typeorm/connect.js')`,
      'stores/open-typeorm-store.ts opens that store, on demand',
    ],
    [
      'stores/open-typeorm-store.ts',
      `import { connect } from './typeorm/connect.js'`,
      'stores/open-typeorm-store.ts opens that store, on demand',
    ],
    ['queues/job-queue.ts', `const x = await import('typeorm')`, 'typeorm has no place here'],
    ['queues/job-queue.ts', `let x: import('typeorm').DataSource`, 'typeorm has no place here'],
    [
      'runtime/worker.ts',
      `import { ModuleRef } from '@nestjs/core/injector/module-ref.js'`,
      '@nestjs/core has no place here',
    ],
    ['runtime/worker.ts', `import lodash from 'lodash'`, 'lodash is no package of this library'],
  ])('refuse in %s: %s', (path, source, breach) => {
    expect(importBreaches([parseSource(path, source)])).toEqual([expect.stringMatching(`: ${breach}$`)]);
  });

  it.each([
    ['stores/memory/memory-store.ts', `import type { JobStore } from '../job-store.js'`],
    ['runtime/worker.ts', `import type { JobsOptions } from '../jobs.options.js'`],
    ['jobs.module.ts', `import { JobQueue } from './queues/job-queue.js'`],
    ['stores/open-typeorm-store.ts', `const { open } = await import('./typeorm/connect.js')`],
    ['stores/open-typeorm-store.ts', `let open: typeof import('./typeorm/connect.js')`],
  ])('allow in %s: %s', (path, source) => {
    expect(importBreaches([parseSource(path, source)])).toEqual([]);
  });

  it('see a circle', () => {
    const files = [
      parseSource('a.ts', `import './b.js'`),
      parseSource('b.ts', `export { c } from './c.js'`),
      parseSource('c.ts', `import type { A } from './a.js'`),
    ];

    expect(circles(files)).toEqual(['a.ts -> b.ts -> c.ts -> a.ts']);
  });

  it('see import.meta', () => {
    expect(importMetaBreaches([parseSource('runtime/x.ts', `const x = () => import.meta.resolve('cron')`)])).toEqual([
      'runtime/x.ts uses import.meta',
    ]);
  });

  it('see SQL', () => {
    expect(sqlBreaches([parseSource('runtime/x.ts', 'const x = `DELETE FROM ${y} WHERE id = 1`')])).toEqual([
      'runtime/x.ts contains SQL',
    ]);
  });
});
