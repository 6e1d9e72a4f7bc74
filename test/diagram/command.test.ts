import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toMermaid, toSvg, toXStateJson } from '../../src/diagram/index.ts';
import { directedGraph } from '../../src/graph.ts';
import { createSupervisor } from '../../src/index.ts';
import { folderWith, run } from '../cli/support.ts';

const REVIEW = `
dfa:
  phases: [REVIEWING]
  addTransitions: [[OBSERVING, REVIEWING], [REVIEWING, PLANNING]]
`;
const reviewing = createSupervisor({ phases: ['REVIEWING'] });
reviewing.addTransition('OBSERVING', 'REVIEWING');
reviewing.addTransition('REVIEWING', 'PLANNING');

describe('phasegate diagram', { timeout: 60_000 }, () => {
  test('draws the default phases in Mermaid', async () => {
    expect(await run(['diagram'])).toEqual({ code: 0, out: toMermaid(createSupervisor()), err: '' });
  });

  test('draws those of a configuration, in each format', async () => {
    folderWith({ 'phasegate.yaml': REVIEW });
    const as = async (format: string) => (await run(['diagram', 'phasegate.yaml', '--format', format])).out;

    expect(await as('mermaid')).toBe(toMermaid(reviewing));
    expect(await as('svg')).toBe(await toSvg(reviewing));
    expect(JSON.parse(await as('json'))).toEqual(directedGraph(reviewing.machine));
    expect(await as('xstate')).toBe(toXStateJson(reviewing));
  });

  test('writes a file, as SVG where its name says so', async () => {
    const folder = folderWith({ 'phasegate.yaml': REVIEW });

    const ended = await run(['diagram', 'phasegate.yaml', '--out', 'phases.svg', '--theme', 'dark']);

    expect(ended).toEqual({ code: 0, out: '', err: '' });
    expect(readFileSync(join(folder, 'phases.svg'), 'utf8')).toBe(await toSvg(reviewing, { theme: 'dark' }));
  });

  test('writes Mermaid to a file of any other name', async () => {
    const folder = folderWith({});

    await run(['diagram', '--out', 'phases.mmd']);

    expect(readFileSync(join(folder, 'phases.mmd'), 'utf8')).toBe(toMermaid(createSupervisor()));
  });

  test('says what is wrong with a configuration, a format, and a place to write to', async () => {
    const folder = folderWith({ 'bad.yaml': 'dfa: { phases: [reviewing] }' });

    const config = await run(['diagram', 'bad.yaml', '--out', 'bad.svg']);
    expect(config).toMatchObject({ code: 2, out: '' });
    expect(config.err).toContain('invalid-config');
    expect(existsSync(join(folder, 'bad.svg'))).toBe(false);

    const format = await run(['diagram', '--format', 'png']);
    expect(format).toMatchObject({ code: 2, out: '' });
    expect(format.err).toContain('mermaid, svg, json, xstate');

    const out = await run(['diagram', '--out', 'no/such/folder/phases.mmd']);
    expect(out).toMatchObject({ code: 2, out: '' });
    expect(out.err).toContain('file-unwritable');
  });
});
