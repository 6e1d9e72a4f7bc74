/**
 * A copy of the project, built from its present sources and so never from a stale `dist`: what the documentation and the
 * example say is run in it, by the package's own name.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';

/** The project itself. */
export const ROOT = join(import.meta.dirname, '..', '..');

/** What the example's tools may see in the copy. */
const COPIED = ['src', 'machines', 'examples', 'docs', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

export interface Workspace {
  readonly path: string;
  /** For what programs put into the folder for temporary files. */
  readonly env: { readonly TMPDIR: string };
  /** The command `phasegate`, as arguments of Node. */
  readonly cli: string;
  remove(): void;
}

export function createWorkspace(): Workspace {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'phasegate-docs-')));
  const [path, TMPDIR] = [join(folder, 'project'), join(folder, 'tmp')];
  for (const name of [path, TMPDIR]) mkdirSync(name);
  for (const name of COPIED) cpSync(join(ROOT, name), join(path, name), { recursive: true });
  for (const name of ['src', 'machines']) transpileFolder(join(ROOT, name), join(path, 'js', name));
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  const { name, version, type, exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const description = { name, version, type, exports: entries(exports) };
  for (const place of [path, join(path, 'js')]) {
    writeFileSync(join(place, 'package.json'), JSON.stringify(description));
  }
  return {
    path,
    env: { TMPDIR },
    cli: join(path, built(bin.phasegate)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** TypeScript as Node runs it; a module of the project's own is imported as the file that it becomes. */
export function transpile(text: string, fileName: string): string {
  const { outputText } = ts.transpileModule(text, {
    fileName,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  return outputText;
}

function transpileFolder(from: string, to: string): void {
  for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const target = join(to, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transpile(readFileSync(join(from, name), 'utf8'), name));
  }
}

function entries(exports: Record<string, string | { import: { default: string } }>): Record<string, string> {
  const modules = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string' ? [] : [[entry, `./${built(target.import.default)}`]],
  );
  return Object.fromEntries(modules);
}

/** Where a file of `dist` is in the copy. */
function built(file: string): string {
  return file.replace(/^(?:\.\/)?dist\//, 'js/src/');
}
