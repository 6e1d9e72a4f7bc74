// @ts-check
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const MANIFEST = resolve(import.meta.dirname, '../../package.json');

/**
 * Of the manifest the code takes the version, and no more of it is bundled.
 *
 * @returns {import('esbuild').Plugin}
 */
export function versionOnly() {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  return {
    name: 'version-only',
    setup(build) {
      build.onLoad({ filter: /package\.json$/ }, ({ path }) =>
        path === MANIFEST ? { contents: JSON.stringify({ version }), loader: 'json' } : undefined,
      );
    },
  };
}
