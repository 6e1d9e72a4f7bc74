/** Reads the Markdown of the project, as far as its tests need it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT } from './workspace.ts';

/** A fenced block of code. */
export interface Block {
  readonly page: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** Whether `<!-- continues -->` above it says that it goes on where the block before it ended. */
  readonly continues: boolean;
}

/** The pages that people read, as paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
];

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; continues: boolean; text: string[] } | undefined;
  let previous = '';
  for (const [index, line] of readPage(page).split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line);
    if (open !== undefined && fence?.[1] === '') {
      blocks.push({ ...open, page, text: open.text.join('\n') });
      open = undefined;
    } else if (open !== undefined) {
      open.text.push(line);
    } else if (fence !== null) {
      open = {
        language: fence[1] ?? '',
        line: index + 2,
        continues: previous === '<!-- continues -->',
        text: [],
      };
    } else if (line.trimStart().startsWith('```')) {
      throw new Error(`${page}:${index + 1}: a fence that the tests cannot read: ${line}`);
    }
    if (line !== '') previous = line;
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: a block without an end`);
  return blocks;
}

/** What is wrong with the links of a page: of files and headings, not of other people's pages. */
export function brokenLinks(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^https?:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(ROOT, file))) return [`${target}: there is no ${file}`];
    if (anchor === undefined || anchorsOf(file).includes(anchor)) return [];
    return [`${target}: ${file} has no such heading, but ${anchorsOf(file).join(', ')}`];
  });
}

/** The headings of a page as GitHub links to them. */
function anchorsOf(page: string): string[] {
  const seen = new Map<string, number>();
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

function proseOf(page: string): string {
  return readPage(page).replace(/^```\w*\n.*?^```$/gms, '');
}
