import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DARK, LIGHT } from '../../../src/diagram/theme.ts';
import { KEYS } from '../../../src/inspect/page/key-table.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

test('the page has the colours of the diagrams, in both themes', () => {
  const style = read('src/inspect/page/style/base.css');
  const colours = new Map(
    [...style.matchAll(/--(\w+): light-dark\((#\w+), (#\w+)\);/g)].map(([, name, light, dark]) => [
      name,
      [light, dark],
    ]),
  );
  const shared = {
    page: 'page',
    live: 'live',
    edge: 'liveEdge',
    phase: 'phase',
    ink: 'ink',
    label: 'label',
    accent: 'arrow',
  } as const;

  for (const [name, colour] of Object.entries(shared)) {
    expect({ name, colours: colours.get(name) }).toEqual({ name, colours: [LIGHT[colour], DARK[colour]] });
  }
});

test('docs/inspect.md has the keys that the page shows', () => {
  const [, table = ''] = /^\| key \| what it does \|\n.*\n((?:\|.*\n)+)/m.exec(read('docs/inspect.md')) ?? [];

  expect(table).toBe(
    KEYS.map(([keys, does]) => `| ${keys.map((key) => `\`${key}\``).join(' ')} | ${does} |\n`).join(''),
  );
});
