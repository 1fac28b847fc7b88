/**
 * Uses the package as its users do: packs it, installs the archive into small projects with Nest 11 and Nest 12, compiles
 * app/main.ts there with the project's own TypeScript, once as an ES module and once as CommonJS, and runs it. A project with specs
 * runs them, too, by its own Jest.
 *
 *     node test/consumers/run.mjs [nest-11] [nest-12]
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const project = join(here, '../..');
const moduleKinds = [
  { folder: 'esm', type: 'module' },
  { folder: 'cjs', type: 'commonjs' },
];

class ConsumerError extends Error {}

/** Runs a program and returns what it printed; throws a ConsumerError with the same when it fails. */
async function run(cwd, file, ...args) {
  const { code, output } = await new Promise((resolve) => {
    const isShell = process.platform === 'win32' && file === 'npm';
    const options = { cwd, shell: isShell, timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(file, args, options, (error, stdout, stderr) => resolve({ code: error?.code, output: stdout + stderr }));
  });
  return { isGood: code === undefined, output, command: `${file} ${args.join(' ')}` };
}

function mustBeGood({ isGood, output, command }) {
  if (!isGood) throw new ConsumerError(`${command} failed:\n${output}`);
  return output;
}

/** What a user needs, and nothing else. */
const packed = /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/.+\.(c?js|d\.c?ts))$/;

async function pack(folder) {
  mustBeGood(await run(project, 'npm', 'run', '--silent', 'build'));
  const packing = await run(project, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  const [{ filename, files }] = JSON.parse(mustBeGood(packing));
  const strangers = files.map(({ path }) => path).filter((path) => !packed.test(path));
  if (strangers.length > 0)
    throw new ConsumerError(`the archive has files that no user needs: ${strangers.join(', ')}`);
  return join(folder, filename);
}

async function install(folder, archive, consumer) {
  await cp(join(here, consumer), folder, { recursive: true });
  const manifestFile = join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(manifestFile, 'utf8'));
  manifest.dependencies['nestjs-jobs'] = `file:${archive}`;
  await writeFile(manifestFile, JSON.stringify(manifest));
  const output = mustBeGood(
    await run(folder, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'),
  );
  if (/nestjs-jobs/.test(output)) throw new ConsumerError(`npm install speaks of this package:\n${output}`);
  // The driver's native part takes a minute to build; the project has the same version, built already.
  const driver = 'node_modules/better-sqlite3/build';
  await cp(join(project, driver), join(folder, driver), { recursive: true });
}

/** Errors in the declarations of other packages are theirs: with all drivers optional, some of TypeORM's do not resolve. */
function mustHaveGoodTypes({ output, command }) {
  const ours = output
    .split('\n')
    .filter((line) => / error TS|^error TS/.test(line) && !/node_modules\/(?!nestjs-jobs\/)/.test(line));
  if (ours.length > 0) throw new ConsumerError(`${command} failed:\n${ours.join('\n')}`);
}

async function checkModuleKind(folder, { folder: name, type }) {
  const app = join(folder, name);
  await mkdir(app);
  await cp(join(here, 'app'), app, { recursive: true });
  await writeFile(join(app, 'package.json'), JSON.stringify({ type }));
  const tsc = join(folder, 'node_modules/typescript/bin/tsc');
  mustHaveGoodTypes(await run(app, process.execPath, tsc, '-p', '.'));
  // Others that compilers of such projects are set to.
  const [module, moduleResolution] = type === 'module' ? ['esnext', 'bundler'] : ['commonjs', 'node10'];
  const other = ['--module', module, '--moduleResolution', moduleResolution, '--noEmit'];
  mustHaveGoodTypes(await run(app, process.execPath, tsc, '-p', '.', ...other));
  const output = mustBeGood(await run(app, process.execPath, 'main.js'));
  if (output.trim() !== 'done') throw new ConsumerError(`main.js printed more than "done":\n${output}`);
}

/** Says "and in Jest" where the project has specs. */
async function checkSpecs(folder) {
  const { jest } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (jest === undefined) return '';
  await cp(join(here, 'spec'), join(folder, 'spec'), { recursive: true });
  mustBeGood(await run(folder, process.execPath, join(folder, 'node_modules/jest/bin/jest.js'), '--ci'));
  return ' and in Jest';
}

async function checkConsumer(temporary, archive, consumer) {
  const start = performance.now();
  const folder = join(temporary, consumer);
  await install(folder, archive, consumer);
  for (const kind of moduleKinds) {
    await checkModuleKind(folder, kind).catch((cause) => {
      throw cause instanceof ConsumerError ? new ConsumerError(`${consumer}, ${kind.folder}: ${cause.message}`) : cause;
    });
  }
  const inJest = await checkSpecs(folder);
  console.log(
    `${consumer}: good as ES module and as CommonJS${inJest} (${Math.round((performance.now() - start) / 1000)} s)`,
  );
}

async function checkAll(consumers) {
  const temporary = await mkdtemp(join(tmpdir(), 'nestjs-jobs-consumers-'));
  try {
    const archive = await pack(temporary);
    const results = await Promise.allSettled(consumers.map((consumer) => checkConsumer(temporary, archive, consumer)));
    const reasons = results.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
    if (reasons.length > 0) throw new AggregateError(reasons);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

const chosen = process.argv.slice(2);
try {
  await checkAll(chosen.length > 0 ? chosen : ['nest-11', 'nest-12']);
} catch (error) {
  for (const reason of error instanceof AggregateError ? error.errors : [error]) {
    console.error(reason instanceof ConsumerError ? reason.message : reason);
  }
  process.exitCode = 1;
}
