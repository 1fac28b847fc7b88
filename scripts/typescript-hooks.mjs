/** The module hooks behind typescript.mjs: `./x.js` finds `./x.ts`, and SWC takes the types away. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform, version } from '@swc/core';
import { swcOptions } from './swc-options.mjs';

const cache = new URL('../node_modules/.cache/nestjs-jobs/', import.meta.url);

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
  return { format: 'module', source: await compiled(filename, await readFile(filename, 'utf8')), shortCircuit: true };
}

/** Tests start hundreds of processes, of which each would spend seconds on the same sources. */
async function compiled(filename, source) {
  const key = createHash('sha256')
    .update(JSON.stringify([swcOptions, version, filename, source]))
    .digest('hex');
  const cached = new URL(`${key}.js`, cache);
  try {
    return await readFile(cached, 'utf8');
  } catch {
    const { code } = await transform(source, { ...swcOptions, filename });
    await keep(cached, code).catch(() => undefined);
    return code;
  }
}

/** Others must never see half of it. */
async function keep(place, code) {
  await mkdir(cache, { recursive: true });
  const draft = new URL(`${place.href}.${process.pid}`);
  await writeFile(draft, code);
  await rename(draft, place);
}
