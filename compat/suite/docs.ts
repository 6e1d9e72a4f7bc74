/** The snippets of docs/adapters.md, run where their framework is installed. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Block, blocksOf } from '../../test/docs/markdown.ts';
import { runNode } from '../../test/docs/node.ts';
import { transpile } from '../../test/docs/workspace.ts';

const PAGE = 'docs/adapters.md';

/**
 * Runs the snippets that import an entry: they have no type error, and print what the block of text below them says.
 *
 * @param entry As in `phasegate/ai-sdk`.
 * @param files What the snippets import besides, as `model.ts`: TypeScript.
 */
export function describeDocs(entry: string, files: Readonly<Record<string, string>>): void {
  describe(`${PAGE}: the snippets of ${entry}`, () => {
    // Inside of the framework's folder, so that its packages are found.
    const folder = resolve('.snippets', 'docs');
    const blocks = blocksOf(PAGE);
    const snippets = blocks.filter(({ language, text }) => language === 'ts' && text.includes(`'${entry}'`));

    beforeAll(() => {
      mkdirSync(folder, { recursive: true });
      for (const [name, text] of Object.entries(files)) write(folder, name, text);
      for (const snippet of snippets) write(folder, nameOf(snippet), snippet.text);
    });

    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it('are there, and have no error that a strict compiler sees', { timeout: 120_000 }, () => {
      expect(snippets.length).toBeGreaterThan(0);
      expect(faultsOf(snippets.map((snippet) => join(folder, nameOf(snippet))))).toBe('');
    });

    it.each(snippets.map((snippet) => [snippet.line, snippet] as const))(
      `line %d prints what the page says`,
      { timeout: 60_000 },
      async (_, snippet) => {
        const below = blocks[blocks.indexOf(snippet) + 1];
        const { code, stdout, stderr } = await runNode([nameOf(snippet).replace(/ts$/, 'js')], folder);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(below?.language).toBe('text');
        expect(stdout.trimEnd()).toBe(below?.text);
      },
    );
  });
}

function nameOf({ line }: Block): string {
  return `line-${line}.ts`;
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), `${text}\nexport {};\n`);
  writeFileSync(join(folder, name.replace(/ts$/, 'js')), transpile(text, name));
}

/** What a strict compiler says of files in a framework's folder. */
export function faultsOf(files: readonly string[]): string {
  const configPath = resolve('tsconfig.json');
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(configPath, ts.sys.readFile).config,
    ts.sys,
    resolve('.'),
  );
  const program = ts.createProgram([...files], options);
  // Of the snippets only: what they import besides is nobody's to read.
  const faults = files.flatMap((file) => [...ts.getPreEmitDiagnostics(program, program.getSourceFile(file))]);
  return ts.formatDiagnostics(faults, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => resolve('.'),
    getNewLine: () => '\n',
  });
}
