/**
 * Compiles what child processes of tests run into `.children/`, which mirrors this folder: module hooks, as typescript.mjs has them, cost each
 * of the hundreds of processes more than all the rest of its start.
 */
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { transform } from '@swc/core';
import { swcOptions } from './swc-options.mjs';

const target = '.children';
const folders = ['lib', 'test/support', 'test/integration/apps'];
/** The package's own doors, as a user names them, lead to the sources. */
const doors = {
  'nestjs-jobs': 'lib/index.js',
  'nestjs-jobs/testing': 'lib/testing/index.js',
  'nestjs-jobs/typeorm': 'lib/stores/typeorm/index.js',
};

/** Files that are newer than what was made of them; several runs may do so at the same time. */
export async function compileChildren() {
  for (const folder of folders) {
    const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(ts|cjs)$/.test(name));
    await Promise.all(names.map((name) => compile(join(folder, name))));
  }
}

/** Where a source has its compiled file. */
function compiledFile(source) {
  return join(target, source.replace(/\.ts$/, '.js'));
}

async function compile(source) {
  const file = compiledFile(source);
  const [from, made] = await Promise.all([stat(source), stat(file).catch(() => undefined)]);
  if (made !== undefined && made.mtimeMs > from.mtimeMs) return;
  const text = await readFile(source, 'utf8');
  const { code } = source.endsWith('.ts') ? await transform(text, { ...swcOptions, filename: source }) : { code: text };
  await mkdir(dirname(file), { recursive: true });
  // Others must never see half of it.
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, withDoors(code, dirname(source)));
  await rename(draft, file);
}

function withDoors(code, folder) {
  return code.replace(/(from|import\()\s*(['"])(nestjs-jobs(?:\/\w+)?)\2/g, (whole, word, quote, door) => {
    const path = doors[door] && relative(folder, doors[door]);
    return path === undefined ? whole : `${word} ${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}
