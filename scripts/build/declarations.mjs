// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const OUT = 'dist/types';
const IMPORT = /(from '|import\(["']|import ')(\.[^'"]+)\.ts(?=["'])/g;

/**
 * Writes the declarations of entries, and of all that they refer to: for ES modules, and once more for CommonJS, where
 * TypeScript asks for a file of its own kind.
 *
 * @param {readonly string[]} sources
 */
export async function declarations(sources) {
  const emitted = emit(sources);
  /** @type {Set<string>} */
  const needed = new Set(sources);
  for (const source of needed) {
    const text = emitted.get(source);
    if (text === undefined) throw new Error(`There is no declaration of ${source}`);
    for (const [, , path] of text.matchAll(IMPORT)) needed.add(join(dirname(source), `${path}.ts`));
    const file = join(OUT, source.replace(/\.ts$/, ''));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.d.ts`, text.replace(IMPORT, '$1$2.js'));
    await writeFile(`${file}.d.cts`, text.replace(IMPORT, '$1$2.cjs'));
  }
}

/** @param {readonly string[]} sources @returns {Map<string, string>} The declarations by source. */
function emit(sources) {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
  const program = ts.createProgram([...sources], {
    ...options,
    allowJs: false,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: '.',
    outDir: OUT,
  });
  /** @type {Map<string, string>} */
  const emitted = new Map();
  const { diagnostics } = program.emit(undefined, (path, text) => {
    emitted.set(path.replace(`${OUT}/`, '').replace(/\.d\.ts$/, '.ts'), text);
  });
  const [fault] = diagnostics;
  if (fault !== undefined) throw new Error(ts.flattenDiagnosticMessageText(fault.messageText, '\n'));
  return emitted;
}
