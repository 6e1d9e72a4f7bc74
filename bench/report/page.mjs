// @ts-check
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const IMAGES = new URL('../../docs/images/', import.meta.url);

/**
 * The page with what was measured put where it belongs: between `<!-- measured: NAME -->` and `<!-- end -->`.
 *
 * @param {string} page @param {string} name @param {string} text
 */
export function withMeasured(page, name, text) {
  const begin = `<!-- measured: ${name} -->\n`;
  const from = page.indexOf(begin);
  const to = page.indexOf('<!-- end -->', from);
  if (from === -1 || to === -1) {
    throw new Error(
      `The page has no place for ${name}: it is to stand between ${begin.trim()} and <!-- end -->`,
    );
  }
  return `${page.slice(0, from + begin.length)}\n${text}\n\n${page.slice(to)}`;
}

/** Writes it into docs/performance.md. @param {string} name @param {string} text */
export function writeMeasured(name, text) {
  writeFileSync(PAGE, withMeasured(readFileSync(PAGE, 'utf8'), name, text));
  console.error(`Written into ${PAGE}`);
}

/** Writes a picture of that page. @param {string} name @param {string} svg */
export function writeImage(name, svg) {
  mkdirSync(IMAGES, { recursive: true });
  const file = fileURLToPath(new URL(name, IMAGES));
  writeFileSync(file, svg);
  console.error(`Written: ${file}`);
}
