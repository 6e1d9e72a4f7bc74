import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import { configJsonSchema } from '../../src/config-json-schema.ts';
import { manifest } from './manifest.ts';

const root = join(inject('consumer'), 'node_modules/phasegate');
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(root, join(entry.parentPath, entry.name)));
const text = (file: string) => readFileSync(join(root, file), 'utf8');

test('what is published is what was built, and the texts', () => {
  const outside = files.filter((file) => !file.startsWith('dist/') && !file.startsWith('docs/'));
  expect(outside.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  expect(files.filter((file) => /test|fixture|\.map$/.test(file))).toEqual([]);
  expect(files).toContain('docs/rules.md');
});

test('no file names the folder in which it was built', () => {
  expect(files.filter((file) => text(file).includes(resolve('.')))).toEqual([]);
});

test('xstate and @xstate/graph are all that is installed with it', () => {
  expect(Object.keys(manifest.dependencies).sort()).toEqual(['@xstate/graph', 'xstate']);
});

// The page is minified, and does not say where its code comes from.
const IN_THE_PAGE = ['@preact/signals', '@preact/signals-core', 'preact'];

test('it carries the licence of each package whose code it holds, and of no other', () => {
  const code = files.filter((file) => /^dist\/.*\.c?js$/.test(file)).map(text);
  const bundled = code.flatMap((file) => [
    ...file.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm),
  ]);
  const licensed = [
    ...text('dist/THIRD-PARTY-LICENSES.txt').matchAll(/^-{80}\n\n(\S+) \S+ \([^)]+\)\n\n\S/gm),
  ];
  const names = (matches: RegExpMatchArray[]) => [...new Set(matches.map(([, name]) => name))].sort();
  expect(names(bundled)).toContain('valibot');
  expect(names(licensed)).toEqual([...names(bundled), ...IN_THE_PAGE].sort());
});

test('the code of both kinds of module is as it was written, for a Node that knows it', () => {
  const code = files.filter((file) => /^dist\/.*\.c?js$/.test(file));
  expect(code.filter((file) => /_optionalChain|_nullishCoalesce|__async\b/.test(text(file)))).toEqual([]);
});

test('the JSON Schema is that of this version', () => {
  expect(JSON.parse(text('dist/config.schema.json'))).toEqual(configJsonSchema());
});

test('the command can be executed', () => {
  expect(text('dist/cli/index.js')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(statSync(join(root, 'dist/cli/index.js')).mode & 0o111).toBe(0o111);
});
