import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import { evaluate } from './process.ts';

const consumer = inject('consumer');
const uses = { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'look', input: {} }] };
const exchange = { request: { parsed_body: { messages: [] } }, response: { parsed_body: uses } };
writeFileSync(join(consumer, 'cassette.yaml'), `interactions:\n- ${JSON.stringify(exchange)}\n`);
const files = [resolve('test/replay/fixtures/inspect-zstandard.eval'), 'cassette.yaml'];
const calls = [3, 0, 1];

// The packages that unpack a zip and read YAML are bundled, and loaded by those only who read such files.
test('recordings in a zip, in Zstandard and in YAML are read by what is imported', () => {
  const code = `
    import { replay } from 'phasegate/replay';
    const calls = [];
    for await (const run of replay({ files: ${JSON.stringify(files)} })) calls.push(run.calls);
    console.log(JSON.stringify(calls));
  `;
  expect(evaluate('module', code, consumer)).toEqual(calls);
});

test('and by what is required', () => {
  const code = `
    const { replay } = require('phasegate/replay');
    (async () => {
      const calls = [];
      for await (const run of replay({ files: ${JSON.stringify(files)} })) calls.push(run.calls);
      console.log(JSON.stringify(calls));
    })();
  `;
  expect(evaluate('commonjs', code, consumer)).toEqual(calls);
});
