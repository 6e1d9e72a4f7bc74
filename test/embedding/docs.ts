import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { blocksOf } from '../docs/markdown.ts';

export const ROOT = new URL('../../', import.meta.url).pathname;

/** The block of docs/embedding.md that has this text in it. */
export function blockWith(text: string): string {
  const [block, ...others] = blocksOf('docs/embedding.md').filter((candidate) =>
    candidate.text.includes(text),
  );
  if (block === undefined || others.length > 0)
    throw new Error(`not one block of docs/embedding.md has ${text}`);
  return block.text;
}

/** Bundles code as someone would who has installed the package; `phasegate` is its present source. */
export function bundle(code: string, options: BuildOptions) {
  return build({
    stdin: { contents: code, resolveDir: ROOT, loader: 'tsx', sourcefile: 'code.tsx' },
    bundle: true,
    format: 'esm',
    alias: { phasegate: join(ROOT, 'src/index.ts') },
    jsx: 'automatic',
    logLevel: 'silent',
    metafile: true,
    ...options,
  });
}

/** The module that a block of the page is, with the XState of these tests. */
export async function importBlock<T>(code: string): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-embedding-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const outfile = join(folder, 'block.mjs');
  await bundle(code, { outfile, platform: 'node', external: ['xstate', '@xstate/*'] });
  return (await import(pathToFileURL(outfile).href)) as T;
}
