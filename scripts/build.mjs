// @ts-check
import { rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import { builtins } from './build/builtins.mjs';
import { toCommonJs } from './build/common-js.mjs';
import { core, coreEntries, outsideOfCore } from './build/core.mjs';
import { copyDeclarations } from './build/declarations.mjs';
import { commandEntries, libraryEntries } from './build/entries.mjs';
import { licences } from './build/licences.mjs';
import { buildPage } from './build/page.mjs';
import { configSchemaText } from './build/schema.mjs';
import { versionOnly } from './build/version.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
await rm('dist', { recursive: true, force: true });

const collected = licences();

const plugins = [builtins(), versionOnly(), collected.plugin];

/** @type {import('tsup').Options} */
const common = {
  config: false,
  silent: true,
  target: 'es2022',
  // Of a package with variants neither the browser's nor Node's, so that one build serves both.
  platform: 'neutral',
  removeNodeProtocol: false,
  // Entries share their modules in chunks: a class is then the same class in each of them, and what is imported
  // lazily stays a chunk that is loaded when it is asked for.
  splitting: true,
  treeshake: false,
  esbuildOptions(options) {
    options.mainFields = ['module', 'main'];
    options.chunkNames = 'chunks/[name]-[hash]';
    options.legalComments = 'none';
  },
};
const { index: _, ...otherEntries } = libraryEntries;

/** @param {'js' | 'cjs'} extension @param {Record<string, string>} entry */
async function buildModules(extension, entry) {
  const format = /** @type {const} */ ({ format: 'esm', outExtension: () => ({ js: `.${extension}` }) });
  await build({ ...common, ...format, entry: coreEntries, esbuildPlugins: [core(), ...plugins] });
  await build({ ...common, ...format, entry, esbuildPlugins: [outsideOfCore(extension), ...plugins] });
}

await buildModules('js', { ...otherEntries, ...commandEntries });
await buildModules('cjs', otherEntries);
await toCommonJs('dist');
await buildPage('dist/inspect', [collected.plugin]);
// What runs the build's result in a minute needs no declarations, which take the longest.
if (!process.argv.includes('--no-types')) {
  await build({ config: false, silent: true, entry: libraryEntries, format: 'esm', dts: { only: true } });
  await copyDeclarations('dist');
}
await writeFile('dist/config.schema.json', await configSchemaText());
await writeFile('dist/THIRD-PARTY-LICENSES.txt', await collected.texts());
