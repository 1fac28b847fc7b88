import { parseSync } from '@swc/core';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One `import … from`, `export … from`, `import()` or `import('…').Type` of a source file. */
export interface SourceImport {
  /** The file it leads to, as a path inside `lib/`; the specifier itself where it leads out of `lib/`. */
  readonly target: string;
  /** `type`: gone when the program runs. `onDemand`: an `import()`. */
  readonly kind: 'static' | 'onDemand' | 'type';
}

/** A file of `lib/`, as far as the rules of the house look at it. */
export interface SourceFile {
  /** Path inside `lib/`, with forward slashes. */
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly SourceImport[];
  /** The contents of all string literals and template parts. */
  readonly strings: readonly string[];
  /** Whether it asks where it lies itself. */
  readonly hasImportMeta: boolean;
}

const swcParser = { syntax: 'typescript', decorators: true, target: 'es2022' } as const;
const libraryFolder = join(dirname(fileURLToPath(import.meta.url)), '../../lib');

/** Reads all of `lib/`. */
export function readLibrary(): readonly SourceFile[] {
  return readdirSync(libraryFolder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|cjs)$/.test(path))
    .map((path) => readSource(path.split(sep).join('/')))
    .toSorted((a, b) => a.path.localeCompare(b.path));
}

function readSource(path: string): SourceFile {
  return parseSource(path, readFileSync(join(libraryFolder, path), 'utf8'));
}

/** Takes a source apart. Separate from the reading, so that the rules can be tried on invented files. */
export function parseSource(path: string, source: string): SourceFile {
  const imports: SourceImport[] = [];
  const strings: string[] = [];
  let hasImportMeta = false;
  visit(parseSync(source, swcParser), (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) imports.push({ target: resolveTarget(path, specifier), kind: kindOf(node) });
    if (node['type'] === 'StringLiteral' && typeof node['value'] === 'string') strings.push(node['value']);
    if (node['type'] === 'TemplateElement' && typeof node['raw'] === 'string') strings.push(node['raw']);
    if (node['type'] === 'MetaProperty' && node['kind'] === 'import.meta') hasImportMeta = true;
  });
  return { path, lines: source.split('\n').length, imports, strings, hasImportMeta };
}

type SyntaxNode = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null;
}

function visit(node: unknown, onNode: (node: SyntaxNode) => void): void {
  if (!isNode(node)) return;
  onNode(node);
  for (const child of Object.values(node)) visit(child, onNode);
}

function specifierOf(node: SyntaxNode): string | undefined {
  switch (node['type']) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return literal(node['source']);
    case 'TsImportType':
      return literal(node['argument']);
    case 'CallExpression': {
      const { callee, arguments: args } = node;
      if (!isNode(callee) || callee['type'] !== 'Import' || !Array.isArray(args)) return undefined;
      const first: unknown = args[0];
      return isNode(first) ? literal(first['expression']) : undefined;
    }
    default:
      return undefined;
  }
}

function literal(node: unknown): string | undefined {
  return isNode(node) && typeof node['value'] === 'string' ? node['value'] : undefined;
}

function kindOf(node: SyntaxNode): SourceImport['kind'] {
  if (node['type'] === 'CallExpression') return 'onDemand';
  return isTypeOnly(node) ? 'type' : 'static';
}

/** `import type { A }`, `import { type A }` and types named as `import('…').A`. */
function isTypeOnly(node: SyntaxNode): boolean {
  if (node['type'] === 'TsImportType' || node['typeOnly'] === true) return true;
  const names = node['specifiers'];
  if (!Array.isArray(names) || names.length === 0) return false;
  return names.every((name: unknown) => isNode(name) && name['isTypeOnly'] === true);
}

function resolveTarget(importer: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  return posix.join(posix.dirname(importer), specifier).replace(/\.js$/, '.ts');
}

/** The names that a file exports by `export { … }` and `export … from`, sorted; `*` stands for all names of another file. */
export function readDoor(path: string): { readonly values: readonly string[]; readonly types: readonly string[] } {
  const values: string[] = [];
  const types: string[] = [];
  for (const item of parseSync(readFileSync(join(libraryFolder, path), 'utf8'), swcParser).body) {
    if (item.type !== 'ExportNamedDeclaration') throw new Error(`${path} holds more than exports: ${item.type}`);
    for (const name of item.specifiers) {
      if (name.type !== 'ExportSpecifier') throw new Error(`${path} does not name each export: ${name.type}`);
      const isType = name.isTypeOnly || isTypeOnly({ ...item });
      (isType ? types : values).push((name.exported ?? name.orig).value);
    }
  }
  return { values: values.toSorted(), types: types.toSorted() };
}
