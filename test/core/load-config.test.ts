import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ConfigError, loadConfig, PhasegateError } from '../../src/index.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'phasegate-config-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

let files = 0;
async function write(text: string | Uint8Array, name = `${++files}.yaml`): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function errorOf(path: string): Promise<ConfigError> {
  const error = await loadConfig(path).catch((error: unknown) => error);
  if (error instanceof ConfigError) return error;
  throw error;
}

/** Each fault as `line:column place`. */
async function placesOf(text: string): Promise<string[]> {
  const { faults } = await errorOf(await write(text));
  return faults.map(({ line, column, path }) => `${line}:${column} ${path.join('.')}`);
}

describe('A configuration in a file', () => {
  const config = { agentProfile: { resourceBudget: { maxSteps: 20 } }, dfa: { parallel: 'concurrent' } };

  test('is YAML', async () => {
    const text =
      'agent_profile:\n  resource_budget:\n    max_steps: 20 # enough\ndfa: { parallel: concurrent }\n';
    expect(await loadConfig(await write(text))).toEqual(config);
  });

  test('or JSON, with tabs or without line breaks', async () => {
    for (const indent of [undefined, 2, '\t']) {
      expect(await loadConfig(await write(JSON.stringify(config, null, indent), `${++files}.json`))).toEqual(
        config,
      );
    }
  });

  test('may have anchors and aliases, a byte order mark, and Windows line ends', async () => {
    expect(await loadConfig(await write('\uFEFFdfa:\r\n  parallel: concurrent\r\n'))).toEqual({
      dfa: { parallel: 'concurrent' },
    });
    const aliases = 'dfa:\n  addTransitions: [&e [OBSERVING, ACTING]]\n  removeTransitions: [*e]\n';
    expect(await loadConfig(await write(aliases))).toEqual({
      dfa: { addTransitions: [['OBSERVING', 'ACTING']], removeTransitions: [['OBSERVING', 'ACTING']] },
    });
  });

  test('that is empty, or holds comments only, says nothing', async () => {
    for (const text of ['', '\n\n', '# nothing yet\n', '{}', '---\n', 'null']) {
      expect(await loadConfig(await write(text))).toEqual({});
    }
  });

  test('can say that there is no limit', async () => {
    const text = 'agentProfile:\n  resourceBudget:\n    maxSteps: .inf\n';
    expect((await loadConfig(await write(text))).agentProfile?.resourceBudget?.maxSteps).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});

describe('A file with faults', () => {
  test('lists every one with its line and column', async () => {
    const text = [
      'agentProfile:',
      '  resourceBudget:',
      '    maxSteps: "20"',
      '    maxLoopsPerPhase: -1',
      'dfa:',
      '  phases: [REVIEWING, reviewing]',
      '  onToolError: ignore',
      '',
    ].join('\n');
    expect((await placesOf(text)).toSorted()).toEqual([
      '3:15 agentProfile.resourceBudget.maxSteps',
      '4:23 agentProfile.resourceBudget.maxLoopsPerPhase',
      '6:23 dfa.phases.1',
      '7:16 dfa.onToolError',
    ]);
  });

  test('says the same places in its message, with the name of the file', async () => {
    const path = await write('dfa:\n  parallel: both\n');
    const { message } = await errorOf(path);
    expect(message).toBe(
      `${path}: 1 fault\n  dfa.parallel (line 2, column 13): must be "serialize" or "concurrent", got "both"`,
    );
  });

  test('in JSON likewise', async () => {
    expect(
      await placesOf('{\n  "agentProfile": {\n    "resourceBudget": { "maxSteps": null }\n  }\n}\n'),
    ).toEqual(['3:37 agentProfile.resourceBudget.maxSteps']);
  });

  test('names keys as they are written, in snake case', async () => {
    expect(await placesOf('agent_profile:\n  resource_budget:\n    max_steps: no\n')).toEqual([
      '3:16 agent_profile.resource_budget.max_steps',
    ]);
  });

  // The place of an unknown key is the key: its value may be far away, or not there at all.
  test.each([
    ['a value', 'dfa:\n  onToolEror: hold\n', '2:3 dfa.onToolEror'],
    ['a mapping', 'agentProfle:\n  resourceBudget:\n    maxSteps: 3\n', '1:1 agentProfle'],
    ['a list', 'dfa:\n  phasees:\n    - REVIEWING\n', '2:3 dfa.phasees'],
    ['nothing', 'dfa:\n  phasees:\n', '2:3 dfa.phasees'],
  ])('points at a key that is none: one with %s', async (_, text, place) => {
    expect(await placesOf(text)).toEqual([place]);
  });

  test('points at the second of two keys that mean the same', async () => {
    expect(await placesOf('dfa: {}\nagentProfile: {}\nagent_profile:\n  resourceBudget: {}\n')).toEqual([
      '3:1 agent_profile',
    ]);
  });

  test('points at an edge that is impossible', async () => {
    const text = 'dfa:\n  addTransitions:\n    - [IDLE, ACTING]\n    - [ANSWERING, PLANNING]\n';
    expect(await placesOf(text)).toEqual(['4:7 dfa.addTransitions.1']);
  });

  const broken: [string, string, RegExp][] = [
    ['a quote that is not closed', 'dfa: "x', /^1:\d+ $/],
    ['a bracket that is not closed', '{ "dfa": [', /^1:\d+ $/],
    ['a tab for indentation', 'dfa:\n\tparallel: both\n', /^2:1 $/],
    ['a key given twice', 'dfa: {}\ndfa: {}\n', /^2:1 $/],
    ['two documents', 'dfa: {}\n---\ndfa: {}\n', /^2:1 $/],
    ['an alias to nothing', 'dfa:\n  phases: *nope\n', /^2:11 /],
    ['an alias to itself', 'dfa: &a\n  phases: *a\n', /^\d+:\d+ /],
    ['a bomb of aliases', bomb(), /^\d+:\d+ |^undefined/],
  ];
  test.each(broken)(
    'that is no YAML, for %s: an error like the others, with its place',
    async (_, text, place) => {
      const error = await errorOf(await write(text));
      expect(error.code).toBe('invalid-config');
      const [fault] = error.faults;
      expect(`${fault?.line}:${fault?.column} ${fault?.path.join('.')}`).toMatch(place);
    },
  );

  test('that is broken JSON is told so in the words of JSON, with the place', async () => {
    const path = await write(
      '{\n  "dfa": {\n    "phases": ["REVIEWING"]\n    "parallel": ]\n  }\n}\n',
      'b.json',
    );
    const { message } = await errorOf(path);
    expect(message).toBe(
      `${path}: 1 fault\n  the whole (line 4, column 5): is no JSON from here on: expected "," or "}", got "parallel"`,
    );
  });

  test('that is broken JSON by an alias of YAML is told so likewise', async () => {
    const { faults } = await errorOf(await write('{ "dfa": *no }', 'c.JSON'));
    expect(faults).toMatchObject([{ line: 1, column: 10, message: expect.stringContaining('no JSON') }]);
  });

  test.each(['json', 'yaml'])(
    'that is right %s, but for a key that is there twice, says that',
    async (kind) => {
      const { faults } = await errorOf(await write('{ "dfa": {}, "dfa": {} }', `twice.${kind}`));
      expect(faults).toEqual([
        { path: [], line: 1, column: 14, message: 'this key is there twice; keep one' },
      ]);
    },
  );

  test.each(['hello', '5', '[]', 'true'])('that holds no mapping but %s', async (text) => {
    const { faults } = await errorOf(await write(text));
    expect(faults).toMatchObject([
      { path: [], line: 1, message: expect.stringContaining('must be a mapping') },
    ]);
  });

  test.each(['__proto__', 'constructor'])(
    'with the key %s: none such, and nothing is polluted',
    async (key) => {
      expect(await placesOf(`${key}:\n  polluted: true\n`)).toHaveLength(1);
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    },
  );
});

describe('A file that cannot be read', () => {
  test('is an error that names it, and keeps the cause', async () => {
    for (const path of [join(folder, 'none.yaml'), folder]) {
      const error = await loadConfig(path).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(PhasegateError);
      expect(error).toMatchObject({ code: 'file-unreadable', message: expect.stringContaining(path) });
      expect((error as Error).cause).toBeInstanceOf(Error);
    }
  });

  test.each([
    ['no/such.yaml', 'there is no such file. Mind its name'],
    ['.', 'it is a directory. Name the file in it'],
  ])('is named as it was given, with the reason and what to do: %s', async (path, reason) => {
    const { message } = (await loadConfig(path).catch((error: unknown) => error as Error)) as Error;
    expect(message).toContain(`${path} cannot be read: ${reason}`);
    expect(message).not.toMatch(/ENOENT|EISDIR/);
  });

  test.each([undefined, null, '', 5, {}])('nor is %j the path of one', async (path) => {
    await expect(loadConfig(path as string)).rejects.toMatchObject({ code: 'invalid-argument' });
  });
});

function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
  );
  return ['l0: &l0 [x]', ...levels, ''].join('\n');
}
