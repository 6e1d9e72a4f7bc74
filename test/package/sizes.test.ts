import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codeEntries } from './manifest.ts';

test('each entry has a limit to its size', () => {
  const limits = JSON.parse(readFileSync('.size-limit.json', 'utf8')) as { readonly name: string }[];
  const limited = limits.map(({ name }) => name.replace(/[:,].*$/, ''));
  expect([...new Set(limited)].sort()).toEqual([...codeEntries].sort());
});
