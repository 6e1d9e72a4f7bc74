// @ts-check
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['src', 'machines', 'scripts', 'package.json', 'tsconfig.json'];
// What a build writes last.
const LAST_OUTPUT = 'dist/THIRD-PARTY-LICENSES.txt';

/** Builds dist/, unless it is newer than all that it is made from. */
export async function ensureBuilt() {
  const built = statSync(join(root, LAST_OUTPUT), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (SOURCES.every((source) => newest(join(root, source)) <= built)) return;
  console.error('Building dist/ …');
  await import('./build.mjs');
}

/** @param {string} path @returns {number} */
function newest(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBuilt();
