import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { phaseMachineConfig } from '../../src/machine.ts';
import { verify } from '../../src/verify/index.ts';
import { blocksOf } from '../docs/markdown.ts';
import { exampleConfig, MACHINES, supervisorOf } from './machines.ts';

describe.each(MACHINES)('machines/$file', ({ machine, config }) => {
  test('is to the letter what its configuration builds', async () => {
    const { rules } = await supervisorOf(config);

    // As text, since the order of the states and of the transitions counts.
    expect(JSON.stringify(machine.config, null, 2)).toBe(JSON.stringify(phaseMachineConfig(rules), null, 2));
  });

  test('has all the properties that a machine must have', async () => {
    const faults = verify(await supervisorOf(config)).properties.filter(({ holds }) => !holds);

    expect(faults).toEqual([]);
  });
});

describe('examples/machines', () => {
  test.each(['review.yaml', 'strict.yaml'])('%s is what docs/stately.md shows', async (name) => {
    const shown = blocksOf('docs/stately.md').find(({ text }) => text.startsWith(`# ${name}\n`))?.text ?? '';
    const file = readFileSync(new URL(`../../examples/machines/${name}`, import.meta.url), 'utf8');

    expect(withoutComments(shown)).toBe(withoutComments(file));
    expect(await exampleConfig(name)).not.toEqual({});
  });
});

function withoutComments(yaml: string): string {
  return yaml.replace(/^#.*\n?/gm, '').trim();
}
