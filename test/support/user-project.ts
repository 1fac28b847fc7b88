import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Child } from './child.js';
import { projectRoot } from './markdown.js';

/** What a user would have installed, besides this package. */
const packages = [
  '@nestjs',
  '@nestjs-cls',
  '@types',
  'better-sqlite3',
  'class-transformer',
  'class-validator',
  'mysql2',
  'nestjs-cls',
  'nodemailer',
  'pg',
  'reflect-metadata',
  'rxjs',
  'typeorm',
  'typeorm-transactional',
  'uuid',
  'valibot',
  'zod',
];

const tsc = join(projectRoot, 'node_modules/typescript/bin/tsc');

/** A folder outside of the project, with this package installed as a user has it: built, and without its sources. */
export class UserProject {
  private constructor(readonly folder: string) {}

  static async create(): Promise<UserProject> {
    const project = new UserProject(await mkdtemp(join(tmpdir(), 'nestjs-jobs-user-')));
    try {
      await project.install();
      return project;
    } catch (error) {
      await project.remove();
      throw error;
    }
  }

  /** Copies files or folders of this project to the same places. */
  async copy(...paths: string[]): Promise<void> {
    const isSource = (path: string): boolean => !['dist', 'data', 'outbox'].includes(basename(path));
    for (const path of paths) {
      await cp(join(projectRoot, path), await this.make(path), { recursive: true, filter: isSource });
    }
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(await this.make(path), text);
  }

  /** @throws Error with what the compiler says, if it says anything. */
  async compile(...args: string[]): Promise<void> {
    const compiler = new Child([tsc, ...args], { cwd: this.folder });
    const { code } = await compiler.ended;
    if (code !== 0 || compiler.output !== '') throw new Error(compiler.output);
  }

  /** Starts Node in the folder. */
  run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
    return new Child(args, { cwd: this.folder, env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', ...env } });
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  private async install(): Promise<void> {
    await this.write('package.json', '{ "type": "module" }');
    for (const name of packages) {
      await symlink(join(projectRoot, 'node_modules', name), await this.make('node_modules', name), 'junction');
    }
    const manifest = await this.make('node_modules/nestjs-jobs/package.json');
    await cp(join(projectRoot, 'package.json'), manifest);
    await this.compile('-p', join(projectRoot, 'tsconfig.build.json'), '--outDir', join(dirname(manifest), 'dist'));
  }

  private async make(...path: string[]): Promise<string> {
    const file = join(this.folder, ...path);
    await mkdir(dirname(file), { recursive: true });
    return file;
  }
}
