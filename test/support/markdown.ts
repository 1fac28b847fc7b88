import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const projectRoot = join(import.meta.dirname, '../..');

/** A fenced block of a page. */
export interface CodeBlock {
  /** `README.md:12`: where it begins. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
  /** What the comment `<!-- prints: … -->` before the block says that it prints. */
  readonly prints: string | undefined;
}

/** One page of the documentation. */
export class Page {
  readonly text: string;

  /** @param path From the root of the project. */
  constructor(readonly path: string) {
    this.text = readFileSync(join(projectRoot, path), 'utf8').replaceAll('\r\n', '\n');
  }

  codeBlocks(): readonly CodeBlock[] {
    const pattern = /(?:<!-- prints: (.+) -->\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
    return [...this.text.matchAll(pattern)].map(({ index, 1: prints, 2: language = '', 3: code = '' }) => {
      const line = this.text.slice(0, this.text.indexOf('```', index)).split('\n').length;
      return { place: `${this.path}:${line}`, language, code, prints };
    });
  }

  /** The rows of the first table behind a heading, or behind another line of its own, without the row of titles. */
  table(heading: string): readonly (readonly string[])[] {
    const start = this.text.split('\n').indexOf(heading);
    if (start === -1) throw new Error(`${this.path} has no line '${heading}'`);
    const lines = this.text.split('\n').slice(start + 1);
    const first = lines.findIndex((line) => line.startsWith('|'));
    const rows = lines.slice(first + 2);
    const end = rows.findIndex((line) => !line.startsWith('|'));
    return rows.slice(0, end).map((row) => cellsOf(row));
  }

  /** The targets of all links outside of code, as they are written. */
  links(): readonly string[] {
    return [...this.prose().matchAll(/\]\(([^)\s]+)\)/g)].map(({ 1: target = '' }) => target);
  }

  /** The anchors that its headings make, as GitHub makes them. */
  anchors(): readonly string[] {
    const headings = [...this.prose().matchAll(/^#+ (.+)$/gm)].map(({ 1: heading = '' }) => heading);
    return headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
  }

  private prose(): string {
    return this.text.replaceAll(/^```[\s\S]*?^```$/gm, '');
  }
}

/** All pages of the project that are for its users. */
export function readPages(): readonly Page[] {
  const root = readdirSync(projectRoot).filter((file) => file.endsWith('.md'));
  const docs = readdirSync(join(projectRoot, 'docs')).filter((file) => file.endsWith('.md'));
  return [...root, ...docs.map((file) => `docs/${file}`), 'sample-app/README.md'].map((path) => new Page(path));
}

function cellsOf(row: string): readonly string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}
