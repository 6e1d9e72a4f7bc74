// @ts-check
import { chmod } from 'node:fs/promises';
import { rolldown } from 'rolldown';
import { builtins } from './builtins.mjs';

/**
 * Bundles entries into dist/. They share their modules in chunks, so that a class is the same class in each of them,
 * and what is imported lazily stays a chunk that is loaded when it is asked for.
 *
 * @param {Record<string, string>} entries
 * @param {'esm' | 'cjs'} format
 * @param {readonly RegExp[]} external The packages that are installed beside this one.
 */
export async function bundle(entries, format, external) {
  const ending = format === 'esm' ? 'js' : 'cjs';
  const build = await rolldown({
    input: entries,
    external: [...external],
    // Of a package with variants neither the browser's nor Node's, so that one build serves both.
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'] },
    transform: { target: 'es2022' },
    plugins: [builtins()],
    experimental: { attachDebugInfo: 'simple' },
    onLog: (_, { message }) => {
      throw new Error(message);
    },
  });
  const { output } = await build.write({
    dir: 'dist',
    format,
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `chunks/[name]-[hash].${ending}`,
    // The core in one file, not one for each set of entries that share a part: each file costs time to import.
    codeSplitting: { groups: [{ name: 'core', test: /[\\/]src[\\/]index\.ts$/ }] },
    minifyInternalExports: false,
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  const chunks = output.filter((file) => file.type === 'chunk');
  for (const { fileName, code } of chunks) if (code.startsWith('#!')) await chmod(`dist/${fileName}`, 0o755);
  return chunks;
}
