import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bundle, ROOT } from './docs.ts';

const SUPERVISOR = `export { createSupervisor } from 'phasegate'; export { createActor } from 'xstate';`;
const ENFORCEMENT = `${SUPERVISOR} export { createEnforcement } from 'phasegate';`;

/** The core for a browser, minified; with splitting, as bundlers do, so that what is loaded later is apart. */
async function bundleForBrowser(code: string) {
  const { outputFiles, metafile } = await bundle(code, {
    platform: 'browser',
    minify: true,
    splitting: true,
    outdir: join(ROOT, 'never-written'),
    write: false,
  });
  const [first] = outputFiles ?? [];
  return {
    text: (outputFiles ?? []).map((file) => file.text).join('\n'),
    kilobytes: gzipSync(first?.contents ?? '').length / 1000,
    outside: Object.values(metafile?.outputs ?? {}).flatMap(({ imports }) =>
      imports.filter(({ external }) => external === true).map(({ path }) => path),
    ),
    packages: new Set(
      Object.keys(metafile?.inputs ?? {}).flatMap(
        (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
      ),
    ),
  };
}

/** What docs/embedding.md says that it is smaller than. */
function limitOf(row: RegExp): number {
  const [, limit] =
    new RegExp(`^\\| ${row.source} \\| (\\d+) kB \\|$`, 'm').exec(
      readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8'),
    ) ?? [];
  return Number(limit);
}

describe('the core in a browser', { timeout: 60_000 }, () => {
  test.each([
    ['a supervisor and an actor', SUPERVISOR, /`createSupervisor` and XState's `createActor`/],
    ['enforcement too', ENFORCEMENT, /`createEnforcement` too/],
    ['everything', `export * from 'phasegate';`, undefined],
  ])('%s: no Node module is in it, and it is as small as the page says', async (what, code, row) => {
    const { text, kilobytes, outside, packages } = await bundleForBrowser(code);
    console.log(`${what}: ${kilobytes.toFixed(1)} kB, minified and compressed with gzip`);

    expect(outside).toEqual([]);
    expect([...packages].filter((name) => builtinModules.includes(name))).toEqual([]);
    expect(text).not.toMatch(/\brequire\(|from\s*["']node:|import\(["']node:/);
    if (row !== undefined) {
      expect(kilobytes).toBeLessThan(limitOf(row));
      expect(kilobytes).toBeGreaterThan(limitOf(row) / 2);
    }
  });

  test('a supervisor needs neither the command line, nor what explores and draws', async () => {
    const { packages } = await bundleForBrowser(`export * from 'phasegate';`);

    expect([...packages].sort()).toEqual([
      '@noble/hashes',
      'fastest-levenshtein',
      'valibot',
      'xstate',
      'yaml',
    ]);
  });
});
