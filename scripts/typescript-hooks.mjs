/** The module hooks behind typescript.mjs: `./x.js` finds `./x.ts`, and SWC takes the types away. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { swcOptions } from './swc-options.mjs';

/** The package's own doors, as a user names them, lead to the sources. */
const doors = new Map([
  ['nestjs-jobs', new URL('../lib/index.ts', import.meta.url).href],
  ['nestjs-jobs/testing', new URL('../lib/testing/index.ts', import.meta.url).href],
  ['nestjs-jobs/typeorm', new URL('../lib/stores/typeorm/index.ts', import.meta.url).href],
]);

export async function resolve(specifier, context, nextResolve) {
  const door = doors.get(specifier);
  if (door !== undefined) return { url: door, shortCircuit: true };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(source)) return { url: source.href, shortCircuit: true };
  }
  return nextResolve(specifier, context);
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), { ...swcOptions, filename });
  return { format: 'module', source: code, shortCircuit: true };
}
