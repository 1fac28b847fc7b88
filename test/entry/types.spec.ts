import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');

/** Compiles a project and returns what the compiler has to say. */
async function compile(project: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', project], { cwd: root }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

describe('the types', () => {
  it('take any payload where the application declares none', async () => {
    expect(await compile('test/types/plain')).toBe('');
  });

  it('check the payloads that the application declares', async () => {
    expect(await compile('test/types/augmented')).toBe('');
  });
});
