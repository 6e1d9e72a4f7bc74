// @ts-check
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const SOURCE = 'src/inspect/page';

/**
 * The page of `phasegate inspect`: all that a browser loads of it, in one folder.
 *
 * @param {string} folder Where they are written.
 * @param {import('esbuild').Plugin[]} [plugins]
 */
export async function buildPage(folder, plugins = []) {
  await build({
    entryPoints: ['main.tsx', 'page.css'].map((file) => ({ in: join(SOURCE, file), out: 'page' })),
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
    metafile: true,
    plugins,
  });
  for (const file of ['index.html', 'icon.svg']) await copyFile(join(SOURCE, file), join(folder, file));
}
