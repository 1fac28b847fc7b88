import { resolveEnqueueOptions, resolveSubmitOptions } from '../lib/model/enqueue-options.js';
import { resolveMemoryOptions, resolvePersistentOptions } from '../lib/model/queue-options.js';
import { resolveModuleOptions } from '../lib/jobs.options.js';
import { JobHandler } from '../lib/handlers/job-handler.decorator.js';
import { killChildren, type Child } from './support/child.js';
import { docsPrelude } from './support/docs-prelude.js';
import { Page, readPages, type CodeBlock } from './support/markdown.js';
import { UserProject } from './support/user-project.js';

const readme = new Page('README.md');

/** Option names of a table, each with its default where the table gives a value; prose defaults are undefined. */
function documented(heading: string): Readonly<Record<string, unknown>> {
  const rows = readme.table(heading);
  return Object.fromEntries(rows.map(([name = '', value = '']) => [withoutTicks(name), valueOf(value)]));
}

function withoutTicks(cell: string): string {
  return cell.replaceAll('`', '');
}

function valueOf(cell: string): unknown {
  if (!/^`.*`$/.test(cell)) return undefined;
  const json = withoutTicks(cell)
    .replaceAll("'", '"')
    .replaceAll(/(?<=\d)_(?=\d)/g, '');
  return JSON.parse(json);
}

/** The option names that a check knows, read from its own refusal of one that does not exist. */
function knownOptions(check: (options: object) => unknown): readonly string[] {
  try {
    check({ doesNotExist: 1 });
  } catch (error) {
    return /(?:it has|they have) (.+)$/.exec(String(error))?.[1]?.split(', ') ?? [];
  }
  return [];
}

function decorate(options: object): void {
  class Host {
    run(): void {}
  }
  const descriptor = { value: Host.prototype.run };
  JobHandler('type', options)(Host.prototype, 'run', descriptor);
}

describe('the options in the README', () => {
  const both = documented('### Both queues');
  const memory = documented('### The memory queue');
  const persistent = documented('### The persistent queue');
  const backoff = documented('### `backoff`');

  it('are those of the module, with their defaults', () => {
    expect(documented('### `JobsModule.forRoot(options)`')).toEqual(resolveModuleOptions({}, 'default'));
  });

  it('are those of the memory queue, with their defaults', () => {
    expect({ ...both, ...memory, backoff }).toEqual(resolveMemoryOptions());
  });

  it('are those of the persistent queue, with their defaults', () => {
    expect({ ...both, ...persistent, backoff }).toEqual(resolvePersistentOptions());
  });

  it('are those of @JobHandler', () => {
    const names = Object.keys(documented('### `@JobHandler(type, options)`'));

    expect(names.toSorted()).toEqual([...knownOptions(decorate)].toSorted());
  });

  it('are those of enqueue', () => {
    const names = Object.keys(documented('### `enqueue(type, payload, options)`'));

    expect(names.toSorted()).toEqual([...knownOptions(resolveEnqueueOptions)].toSorted());
  });

  it('are, without queue, throttle and manager, those of submit', () => {
    const names = Object.keys(documented('### `enqueue(type, payload, options)`'));

    expect(names.filter((name) => !['manager', 'queue', 'throttle'].includes(name)).toSorted()).toEqual(
      [...knownOptions(resolveSubmitOptions)].toSorted(),
    );
  });
});

describe('the code in the documentation', () => {
  const blocks = readPages()
    .flatMap((page) => page.codeBlocks())
    .filter(({ language }) => language === 'ts');
  let project: UserProject;

  beforeAll(async () => {
    project = await UserProject.create();
  }, 60_000);
  afterEach(killChildren);
  afterAll(() => project?.remove());

  it('compiles', async () => {
    await project.write('docs/prelude.d.ts', docsPrelude);
    for (const { place, code } of blocks) {
      await project.write(`docs/${place.replaceAll(/[/:]/g, '-')}.ts`, `${code}\nexport {};\n`);
    }
    await project.write('docs/tsconfig.json', JSON.stringify({ compilerOptions, include: ['.'] }));

    await project.compile('-p', 'docs');
  }, 60_000);

  it.each(blocks.filter(({ prints }) => prints !== undefined).map((block) => [block.place, block] as const))(
    'runs as pasted: %s',
    async (_place, block) => {
      const child = await runAsWritten(project, block);

      await child.prints(block.prints ?? '');
    },
    60_000,
  );

  it('shows a first job in under thirty lines', () => {
    const [first] = readme.codeBlocks().filter(({ prints }) => prints !== undefined);

    expect(first?.code.split('\n').length).toBeLessThan(30);
  });

  it('shows a first job that Ctrl-C ends', async () => {
    const [first] = blocks.filter(({ prints }) => prints !== undefined);
    const child = await runAsWritten(project, first ?? fail());
    await child.prints(first?.prints ?? '');

    child.kill('SIGINT');

    expect(await child.ended).toEqual({ code: null, signal: 'SIGINT' });
  }, 60_000);
});

const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  types: ['node', 'jest'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

function fail(): never {
  throw new Error('the README has no block that prints something');
}

/** Saves a block as `main.ts`, and does what the README says next. */
async function runAsWritten(project: UserProject, block: CodeBlock): Promise<Child> {
  const commands = readme
    .codeBlocks()
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n'));
  const compile = commands.find((command) => command.startsWith('npx tsc ')) ?? fail();
  const run = commands.find((command) => command.startsWith('node ')) ?? fail();
  await project.write('main.ts', block.code);
  await project.compile(...compile.split(' ').slice(2));
  return project.run(run.split(' ').slice(1));
}
