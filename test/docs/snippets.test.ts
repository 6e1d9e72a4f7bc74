import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/load-config.ts';
import { DEFAULT_TRANSITIONS } from '../../src/phases.ts';
import { type Block, blocksOf, brokenLinks, PAGES, readPage } from './markdown.ts';
import { runNode } from './node.ts';
import { createWorkspace, ROOT, transpile, type Workspace } from './workspace.ts';

/**
 * What is not run for what it says, with the reason. Every other command is.
 */
const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ['npm install phasegate', 'needs the published package'],
  ['npm ci && npm test', 'is what runs this'],
  ['npm ci', 'has made the dependencies that this runs with'],
  ['npm run bench', 'takes minutes'],
  ['npx phasegate inspect', 'serves until it is interrupted; test/cli/inspect.test.ts does both'],
  ['npx phasegate inspect runs.jsonl', 'the same'],
  ['npx phasegate inspect "logs/**/*.jsonl" --port 0', 'the same'],
  ['npx phasegate inspect session.jsonl --config phasegate.yaml', 'the same'],
  ['node agent.mjs --log | npx phasegate inspect -', 'the same'],
]);

// `npm start` tells of the sources, which change, of times and of a folder that it makes: figures, files and what fills up
// its columns are not compared.
function withoutFigures(text: string): string {
  return exactly(text)
    .replace(/run-\w+-\d+/g, 'run-ID')
    .replace(/\bsrc\/[\w./-]*…?/g, 'FILE')
    .replace(/(?:\/[\w.-]+)+\/run\.jsonl/g, 'RECORDING')
    .replace(/\d+(?:\.\d+)?/g, 'N')
    .replace(/(\[[^\]\n]*)…/g, '$1')
    .replace(/ +/g, ' ');
}

// Whole programs are run, also on a machine that has other things to do.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workspace: Workspace;

beforeAll(() => {
  workspace = createWorkspace();
  writeFileSync(join(workspace.path, 'prelude.mjs'), PRELUDE);
  for (const page of PAGES) mkdirSync(folderOf(page), { recursive: true });
});

afterAll(() => workspace.remove());

const NOT_RUN_HERE = [
  // What was measured on one machine on one day cannot be had again by a test.
  'docs/performance.md',
  // Needs the frameworks, and is run where those are installed: compat/suite/docs.ts.
  'docs/adapters.md',
];

const { UPDATE_DOCS } = process.env;
const lineCounts = new Map(PAGES.map((page) => [page, readPage(page).split('\n').length]));
const pages = PAGES.filter((page) => !NOT_RUN_HERE.includes(page)).map((page) => ({
  page,
  blocks: blocksOf(page).filter(
    (block, index, blocks) => !(needsServer(block) || isOutputOf(blocks[index - 1], block)),
  ),
}));

/** Restate's server, with which compat/restate/docs.test.ts runs it. */
function needsServer({ language, text }: Block): boolean {
  return language === 'ts' && text.includes("'phasegate/restate'");
}

function isOutputOf(before: Block | undefined, { language }: Block): boolean {
  return language === 'text' && before !== undefined && needsServer(before);
}

describe.each(pages.filter(({ blocks }) => blocks.length > 0))(
  'the snippets of $page',
  ({ page, blocks }) => {
    // In the order of the page: a block may read what the ones before it have written.
    let output: Output | undefined;

    for (const [index, block] of blocks.entries()) {
      it(`${page}:${block.line}: ${block.language} holds`, async () => {
        const before = output;
        output = undefined;
        switch (block.language) {
          case 'ts':
          case 'js':
            output = { text: await runProgram(block, index, blocks), compared: exactly };
            break;
          case 'sh':
            output = await runCommands(block);
            break;
          case 'text':
            if (before === undefined)
              expect.fail('a block of text must be the output of the block before it');
            if (UPDATE_DOCS) rewrite(block, before.text);
            else expect(before.compared(before.text)).toBe(before.compared(block.text));
            break;
          case 'json':
          case 'yaml':
            await expectConfiguration(block);
            break;
          case 'tsx':
            // test/embedding compiles it and runs it in a browser.
            break;
          case 'mermaid':
            expectDefaultTable(block);
            break;
          default:
            expect.fail(`no way is known to try a block of ${block.language || 'no language'}`);
        }
      });
    }
  },
);

describe('the TypeScript of all pages', () => {
  it('has no error that a strict compiler sees', { timeout: 180_000 }, () => {
    const files = pages.flatMap(({ page, blocks }) =>
      blocks.flatMap((block, index) => {
        if (block.language !== 'ts') return [];
        const file = join(folderOf(page), `line-${block.line}.ts`);
        writeFileSync(
          file,
          `${chainOf(index, blocks)
            .map(({ text }) => text)
            .join('\n')}\nexport {};\n`,
        );
        return [file];
      }),
    );
    expect(files.length).toBeGreaterThan(0);
    const program = ts.createProgram(files, {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules', '@types')],
      paths: {
        phasegate: [join(ROOT, 'src', 'index.ts')],
        'phasegate/*': [join(ROOT, 'src', '*', 'index.ts')],
      },
    });
    const host: ts.FormatDiagnosticsHost = {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => workspace.path,
      getNewLine: () => '\n',
    };
    // Of the snippets only: the sources are checked where they are.
    const faults = files.flatMap((file) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    });
    expect(ts.formatDiagnostics(faults, host)).toBe('');
  });
});

describe('the links', () => {
  it.each(PAGES)('of %s lead somewhere', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});

/** With UPDATE_DOCS set, the page is made to say what came out. Blocks above may have moved those below. */
function rewrite(block: Block, text: string): void {
  const lines = readPage(block.page).split('\n');
  const moved = lines.length - (lineCounts.get(block.page) ?? lines.length);
  const at = block.line - 1 + moved;
  lines.splice(at, block.text.split('\n').length, ...exactly(text).split('\n'));
  writeFileSync(join(ROOT, block.page), lines.join('\n'));
}

function folderOf(page: string): string {
  return join(workspace.path, 'pages', page.replace(/\W/g, '-'));
}

/** The block, and those that it continues, from the first. */
function chainOf(index: number, blocks: readonly Block[]): Block[] {
  const block = blocks[index];
  if (block === undefined) throw new Error('no block to continue');
  if (!block.continues) return [block];
  const earlier = blocks.slice(0, index).findLastIndex(({ language }) => language === block.language);
  return [...chainOf(earlier, blocks), block];
}

// A line that prints, with what it prints in a comment behind it.
const SHOWS = /^(\s*)console\.log\((.*)\); \/\/ → (.*)$/;

async function runProgram(block: Block, index: number, blocks: readonly Block[]): Promise<string> {
  const folder = folderOf(block.page);
  const name = /^\/\/ (\S+\.m?[jt]s)$/m.exec(block.text.split('\n')[0] ?? '')?.[1];
  const file = join(folder, name ?? `line-${block.line}.mjs`);
  const log = `${file}.log`;
  const expected: string[] = [];
  const parts = chainOf(index, blocks).map(({ text }) =>
    text
      .split('\n')
      .map((line) => {
        const [, indent, args, shown] = SHOWS.exec(line) ?? [];
        if (shown === undefined) {
          expect(line, '"// →" is only read behind a whole console.log(…);').not.toContain('// →');
          return line;
        }
        expected.push(shown);
        return `${indent}globalThis.shown(${expected.length - 1}, ${args});`;
      })
      .join('\n'),
  );
  const program = parts.join('\nglobalThis.nextPart();\n');
  writeFileSync(file, block.language === 'ts' ? transpile(program, 'snippet.ts') : program);
  writeFileSync(log, '');

  const prelude = join(workspace.path, 'prelude.mjs');
  const { code, stdout, stderr } = await runNode(['--import', prelude, file], folder, { SHOWN_LOG: log });

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const shown = readFileSync(log, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  for (const [id, text] of expected.entries()) {
    const printed = shown.filter((entry) => entry.id === id);
    expect(printed, `nothing printed "${text}"`).not.toHaveLength(0);
    for (const entry of printed) expect(entry.text).toBe(text);
  }
  return stdout.split(PART).at(-1) ?? '';
}

/** What the commands print, and how that is compared. */
async function runCommands(block: Block): Promise<Output> {
  let output: Output = { text: '', compared: exactly };
  for (const line of block.text.split('\n')) {
    const [command = '', exit = 'exit code 0'] = line.split(' # ');
    if (NOT_RUN.has(command)) continue;
    const { path, cli, env } = workspace;
    const [, arguments_] = /^(?:npx )?phasegate (.*)$/.exec(command) ?? [];
    if (arguments_ !== undefined) {
      const { code, stdout, stderr } = await runNode([cli, ...wordsOf(arguments_)], folderOf(block.page));
      expect({ exit: `exit code ${code}`, stderr }).toEqual({ exit, stderr: '' });
      output = { text: output.text + stdout, compared: withoutHashes };
    } else if (/^(?:npm ci && )?npm start$/.test(command)) {
      const { code, stdout, stderr } = await runNode([join('examples', 'start.mjs')], path, env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      output = { text: stdout, compared: withoutFigures };
    } else {
      expect.fail(`the tests know no way to run: ${command}`);
    }
  }
  return output;
}

/** The words of a command, where one in quotes may hold spaces. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

interface Output {
  readonly text: string;
  /** What of it is compared with the documentation. */
  compared(text: string): string;
}

function exactly(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

async function expectConfiguration(block: Block): Promise<void> {
  const name =
    /^# (\S+\.yaml)$/.exec(block.text.split('\n')[0] ?? '')?.[1] ?? `line-${block.line}.${block.language}`;
  const file = join(folderOf(block.page), name);
  writeFileSync(file, block.text);
  expect(await loadConfig(file)).not.toEqual({});
}

/** Hashes of records with a time in them. */
function withoutHashes(text: string): string {
  return exactly(text).replace(/\b[0-9a-f]{64}\b/g, 'HASH');
}

function expectDefaultTable(block: Block): void {
  const edges = [...block.text.matchAll(/(\w+|\[\*\]) --> (\w+|\[\*\])/g)].map(([, from, to]) => [from, to]);
  const inner = edges.filter((edge) => !edge.includes('[*]'));
  expect(inner).toEqual(DEFAULT_TRANSITIONS);
  expect(edges[0]).toEqual(['[*]', 'IDLE']);
  expect(edges.filter(([, to]) => to === '[*]').map(([from]) => from)).toEqual([
    'ANSWERING',
    'REJECTED',
    'EXHAUSTED',
  ]);
}

const PART = '\u0000';
const PRELUDE = `
import { appendFileSync } from 'node:fs';
import { format } from 'node:util';
globalThis.shown = (id, ...args) => {
  const text = format(...args);
  console.log(text);
  appendFileSync(process.env.SHOWN_LOG, JSON.stringify({ id, text }) + '\\n');
};
globalThis.nextPart = () => process.stdout.write('\\0');
`;
