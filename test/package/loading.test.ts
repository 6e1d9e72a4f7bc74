import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { evaluate } from './process.ts';

const consumer = inject('consumer');
writeFileSync(join(consumer, 'phasegate.yaml'), 'no_such_key: 1');
const root = join(consumer, 'node_modules/phasegate');

/** The files that an import of this one loads at once: not those of `import()`. */
function importedAtOnce(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export|\}).*"(\.[^"]+)";$/gm)) {
    importedAtOnce(join(dirname(file), path), seen);
  }
  return seen;
}

/** The bundled packages of which these files hold code. */
function packagesIn(files: Iterable<string>): string[] {
  const code = [...files].map((file) => readFileSync(file, 'utf8')).join('\n');
  return [
    ...new Set(
      [...code.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm)].map(([, name = '']) => name),
    ),
  ].sort();
}

// YAML is read, and a JSON Schema or a command line made, by those only who ask for it.
const AT_ONCE = ['@noble/hashes', 'fastest-levenshtein', 'valibot'];

test('an import of the core loads no package that it may not need', () => {
  const files = importedAtOnce(join(root, 'dist/index.js'));
  expect(packagesIn(files)).toEqual(AT_ONCE);
  expect([...files].filter((file) => readFileSync(file, 'utf8').includes('to-json-schema'))).toEqual([]);
});

test('a require loads YAML when a configuration is read, not before', () => {
  const code = `
    const { loadConfig } = require('phasegate');
    const loaded = () => Object.keys(require.cache).filter((file) => file.includes('phasegate/dist/'));
    const before = loaded();
    loadConfig('phasegate.yaml').catch(() => console.log(JSON.stringify([before, loaded()])));
  `;
  const [before, after] = evaluate('commonjs', code, consumer) as [string[], string[]];
  const holdsYaml = (file: string) => readFileSync(file, 'utf8').includes('YAMLParseError');
  expect(before.filter(holdsYaml)).toEqual([]);
  expect(after.filter(holdsYaml)).toHaveLength(1);
});
