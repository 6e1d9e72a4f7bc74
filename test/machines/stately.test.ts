import { readFileSync } from 'node:fs';
import { globSync } from 'tinyglobby';
import { describe, expect, test } from 'vitest';
import { isTerminal } from '../../src/index.ts';
import { type ExtractedState, extractMachines } from './extractor/index.ts';
import { MACHINES } from './machines.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

interface StatelyConfig {
  readonly $schema: string;
  readonly version: string;
  readonly defaultXStateVersion: number;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly newMachinesDir?: string;
}

describe('Stately’s extractor', () => {
  test.each(MACHINES)('reads all of machines/$file', ({ file, machine }) => {
    const [extracted, ...others] = extractMachines(read(`machines/${file}`));

    expect(others).toEqual([]);
    expect(extracted).toMatchObject({ id: 'phasegate', initial: 'IDLE' });
    expect(Object.keys(extracted?.states ?? {})).toEqual(Object.keys(machine.config.states ?? {}));
    expect(transitionsIn(extracted as ExtractedState)).toEqual(
      transitionsIn(machine.config as ExtractedState),
    );
  });

  test('finds the seven phases, which of them are terminal, and the transitions of the default table', () => {
    const [machine] = extractMachines(read('machines/phase.machine.ts'));
    const states = Object.entries(machine?.states ?? {});

    expect(states.map(([name]) => name).sort()).toEqual(
      ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING', 'ANSWERING', 'REJECTED', 'EXHAUSTED'].sort(),
    );
    expect(states.filter(([, { type }]) => type === 'final').map(([name]) => name)).toEqual(
      states.map(([name]) => name).filter(isTerminal),
    );
    const proposals = states.flatMap(([from, { on = {} }]) =>
      Object.keys(on).flatMap((event) => (/^propose\./.test(event) ? `${from} ${event}` : [])),
    );
    expect(proposals).toEqual([
      'IDLE propose.PLANNING',
      'PLANNING propose.ACTING',
      'PLANNING propose.ANSWERING',
      'ACTING propose.OBSERVING',
      'OBSERVING propose.PLANNING',
      'OBSERVING propose.ANSWERING',
    ]);
  });
});

describe('stately.config.json', () => {
  const config = JSON.parse(read('stately.config.json')) as StatelyConfig;

  test('has the form that Stately’s command line reads', () => {
    expect(config).toMatchObject({
      $schema: 'https://stately.ai/schemas/statelyai.json',
      version: '1.0.0',
      defaultXStateVersion: 5,
    });
  });

  test('names the machines, and nothing else', () => {
    const found = globSync([...config.include], {
      cwd: ROOT.pathname,
      ignore: [...config.exclude, '**/node_modules/**'],
    });

    expect(found.sort()).toEqual(MACHINES.map(({ file }) => `machines/${file}`).sort());
  });

  // It takes a file for one with machines by these two things in its text.
  test.each([/\bfrom 'xstate'/, /\.createMachine\(/])('names files that have %s', (pattern) => {
    const without = MACHINES.filter(({ file }) => !pattern.test(read(`machines/${file}`)));

    expect(without.map(({ file }) => file)).toEqual([]);
  });
});

/** Each transition as a line: where from, on what, under which guard, where to, and doing what. */
function transitionsIn(state: ExtractedState, path: readonly string[] = []): string[] {
  const own = Object.entries(state.on ?? {}).flatMap(([event, transitions]) =>
    listOf(transitions).map((transition, index) => {
      const { target = '', guard, cond = guard, actions } = transition as Record<string, unknown>;
      const done = listOf(actions).map(nameOf).join(' ');
      return `${path.join('.')} ${event}#${index} [${cond === undefined ? '' : nameOf(cond)}] ${target} {${done}}`;
    }),
  );
  const nested = Object.entries(state.states ?? {});
  return [...own, ...nested.flatMap(([name, child]) => transitionsIn(child, [...path, name]))];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

// The extractor wraps a name in an object, and names no parameters as an empty one.
function nameOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const { action, type, params = {} } = value as Record<string, unknown>;
  if (action !== undefined) return nameOf(action);
  return Object.keys(params as object).length === 0 ? String(type) : `${type}(${JSON.stringify(params)})`;
}
