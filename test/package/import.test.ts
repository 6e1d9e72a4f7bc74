import { expect, inject, test } from 'vitest';
import { codeEntries } from './manifest.ts';
import { evaluate } from './process.ts';

const consumer = inject('consumer');

test.each(codeEntries)('%s can be imported and required, with the same names', (name) => {
  const print = 'console.log(JSON.stringify(Object.keys(module_).sort()))';
  const imported = evaluate('module', `import * as module_ from '${name}'; ${print}`, consumer);
  const required = evaluate('commonjs', `const module_ = require('${name}'); ${print}`, consumer);
  expect(imported).not.toEqual([]);
  expect(required).toEqual(imported);
});

const AGENT = `
  const { createEnforcement, createSupervisor, isToolExecutionBlocked } = phasegate;
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
  const search = enforcement.tool('search', async (query) => query.length);
  enforcement.withRun(async () => [
    await search('xstate'),
    await search('xstate').catch((error) => isToolExecutionBlocked(error) && error.message),
  ]).then((answers) => console.log(JSON.stringify(answers)));
`;

test.each([
  ['module', `import * as phasegate from 'phasegate';${AGENT}`],
  ['commonjs', `const phasegate = require('phasegate');${AGENT}`],
] as const)('an agent runs under it as %s', (type, code) => {
  expect(evaluate(type, code, consumer)).toEqual([6, 'Step budget exhausted: 1/1']);
});

test('a refusal of the required copy is known to the imported one', () => {
  const code = `
    import { createRequire } from 'node:module';
    import { isToolExecutionBlocked, ToolExecutionBlocked } from 'phasegate';
    const other = createRequire(process.cwd() + '/index.js')('phasegate');
    const refusal = await other.createEnforcement().tool('search', () => 1)().catch((error) => error);
    console.log(JSON.stringify([refusal instanceof ToolExecutionBlocked, isToolExecutionBlocked(refusal)]));
  `;
  expect(evaluate('module', code, consumer)).toEqual([false, true]);
});

test('a configuration is read from YAML, imported and required', () => {
  const code = `
    const path = require('node:path').join(require('node:os').tmpdir(), 'phasegate-' + process.pid + '.yaml');
    require('node:fs').writeFileSync(path, 'dfa: { on_tool_error: observe }');
    Promise.all([import('phasegate'), require('phasegate')])
      .then((copies) => Promise.all(copies.map(({ loadConfig }) => loadConfig(path))))
      .finally(() => require('node:fs').rmSync(path))
      .then((configs) => console.log(JSON.stringify(configs)));
  `;
  const config = { dfa: { onToolError: 'observe' } };
  expect(evaluate('commonjs', code, consumer)).toEqual([config, config]);
});

const FAULT = `
  (async () => {
    for await (const _ of replay({ files: ['no-such-file.jsonl'] }));
  })().catch((error) => console.log(JSON.stringify([error instanceof PhasegateError, error.code])));
`;

test.each([
  [
    'module',
    `import { PhasegateError } from 'phasegate'; import { replay } from 'phasegate/replay';${FAULT}`,
  ],
  [
    'commonjs',
    `const { PhasegateError } = require('phasegate'), { replay } = require('phasegate/replay');${FAULT}`,
  ],
] as const)('its entries share their classes as %s', (type, code) => {
  expect(evaluate(type, code, consumer)).toEqual([true, 'unreadable-trace']);
});
