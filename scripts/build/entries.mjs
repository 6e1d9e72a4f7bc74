// @ts-check
import { readFileSync } from 'node:fs';

/** @type {{ exports: Record<string, string | { import: { default: string } }>, bin: Record<string, string> }} */
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** What users import, as output: source. The `exports` of package.json are the one place that says so. */
export const libraryEntries = entriesOf(
  Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.import.default],
  ),
);

/** What users run: the `bin` of package.json. */
export const commandEntries = entriesOf(Object.values(manifest.bin));

/** @param {readonly string[]} outputs */
function entriesOf(outputs) {
  return Object.fromEntries(
    outputs.map((output) => {
      const name = output.replace(/^\.\/dist\/|\.js$/g, '');
      return [name, `src/${name}.ts`];
    }),
  );
}
