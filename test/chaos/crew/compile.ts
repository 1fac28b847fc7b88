import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../../support/child.js';

const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));
const doors = { '.': './lib/index.js', './typeorm': './lib/stores/typeorm/index.js' };

/**
 * Compiles the programs of a run into this folder: processes that are killed all the time should be back soon, and all of the
 * same code. Returns the folder of the programs.
 *
 * @throws Error with what the compiler says
 */
export async function compileApps(folder: string): Promise<string> {
  await mkdir(folder);
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'nestjs-jobs', type: 'module', exports: doors }),
  );
  await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const tsc = join(projectRoot, 'node_modules/typescript/bin/tsc');
  const compiler = new Child([tsc, '-p', 'test/chaos/tsconfig.json', '--outDir', folder], { cwd: projectRoot });
  const { code } = await compiler.ended;
  if (code !== 0) throw new Error(compiler.output);
  return join(folder, 'test/chaos/apps');
}
