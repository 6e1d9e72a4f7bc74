// @ts-check
import { readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['src', 'machines'].map((folder) => join(ROOT, folder));
// What users import, and what only the build does.
const APART = new Set(['index.ts', 'config-json-schema.ts']);
const ENTRY = 'scripts/build/core-entry.mjs';

/** The core and what users import of it, as output: source. Split by themselves, they share one chunk and no more. */
export const coreEntries = { index: 'src/index.ts', core: ENTRY };

/**
 * Makes one module of all modules of the core.
 *
 * @returns {import('esbuild').Plugin}
 */
export function core() {
  const modules = readdirSync(join(ROOT, 'src')).filter((file) => file.endsWith('.ts') && !APART.has(file));
  const contents = modules.map((file) => `export * from './src/${file}';`).join('\n');
  return {
    name: 'core',
    setup(build) {
      build.onLoad({ filter: /core-entry\.mjs$/ }, () => ({ contents, resolveDir: ROOT }));
    },
  };
}

/**
 * Takes modules of the core from there, for entries that lie in a folder. Were all entries split together, each combination of
 * them would have a chunk of the core for itself, and to load six files instead of two takes 8 ms.
 *
 * @param {string} extension
 * @returns {import('esbuild').Plugin}
 */
export function outsideOfCore(extension) {
  return {
    name: 'outside-of-core',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path, resolveDir }) =>
        FOLDERS.includes(dirname(resolve(resolveDir, path)))
          ? { path: `../core.${extension}`, external: true }
          : undefined,
      );
    },
  };
}
