import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { supervisorOptions } from '../../src/config.ts';
import { configJsonSchema } from '../../src/config-json-schema.ts';
import {
  type Config,
  ConfigError,
  type ConfigFault,
  createEnforcement,
  createMonitor,
  createSupervisor,
  parseConfig,
} from '../../src/index.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

function faultsOf(value: unknown): readonly ConfigFault[] {
  try {
    parseConfig(value);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

/** Each fault as `place: message`. */
function faultLines(value: unknown): string[] {
  return faultsOf(value).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const FULL = {
  agentProfile: { resourceBudget: { maxSteps: 20, maxLoopsPerPhase: 2 } },
  enabledChecks: ['dfa'],
  dfa: {
    phases: ['REVIEWING'],
    addTransitions: [
      ['OBSERVING', 'REVIEWING'],
      ['REVIEWING', 'PLANNING'],
    ],
    removeTransitions: [['OBSERVING', 'ANSWERING']],
    onToolError: 'observe',
    onBudgetExhausted: 'terminate',
    onRejected: 'terminate',
    parallel: 'concurrent',
  },
} as const satisfies Config;

describe('A configuration that is right', () => {
  test('is answered as it is', () => {
    expect(parseConfig(FULL)).toEqual(FULL);
    expect(parseConfig({})).toEqual({});
    expect(parseConfig({ $schema: './schema.json', dfa: {} })).toEqual({ $schema: './schema.json', dfa: {} });
  });

  test('may be in snake case, also in part', () => {
    const snake = {
      agent_profile: { resource_budget: { max_steps: 20, max_loops_per_phase: 2 } },
      enabled_checks: ['dfa'],
      dfa: {
        phases: ['REVIEWING'],
        add_transitions: FULL.dfa.addTransitions,
        removeTransitions: FULL.dfa.removeTransitions,
        on_tool_error: 'observe',
        on_budget_exhausted: 'terminate',
        onRejected: 'terminate',
        parallel: 'concurrent',
      },
    };
    expect(parseConfig(snake)).toEqual(FULL);
  });

  test('is a copy: what is done to either changes not the other', () => {
    const given = structuredClone(FULL) as unknown as { dfa: { phases: string[] } };
    const parsed = parseConfig(given);
    given.dfa.phases.push('LATER');
    expect(parsed.dfa?.phases).toEqual(['REVIEWING']);
  });

  test('may be frozen, or without a prototype', () => {
    const bare = Object.freeze(Object.assign(Object.create(null), { enabledChecks: Object.freeze(['dfa']) }));
    expect(parseConfig(bare)).toEqual({ enabledChecks: ['dfa'] });
  });

  test('says what its supervisor is', () => {
    const { rules, transitions } = createSupervisor(supervisorOptions(parseConfig(FULL)));
    expect(rules).toMatchObject({
      maxSteps: 20,
      maxLoopsPerPhase: 2,
      onToolError: 'observe',
      onBudgetExhausted: 'terminate',
      onRejected: 'terminate',
    });
    expect(transitions).toEqual([
      ['IDLE', 'PLANNING'],
      ['PLANNING', 'ACTING'],
      ['PLANNING', 'ANSWERING'],
      ['ACTING', 'OBSERVING'],
      ['OBSERVING', 'PLANNING'],
      ['OBSERVING', 'REVIEWING'],
      ['REVIEWING', 'PLANNING'],
    ]);
  });

  test('that says nothing of a supervisor leaves it to others', () => {
    for (const config of [
      {},
      { enabledChecks: ['dfa'] },
      { dfa: { parallel: 'concurrent' } },
      { agentProfile: {} },
    ]) {
      expect(createMonitor(config as Config).supervisor).toBeNull();
    }
    expect(createMonitor({ dfa: { onRejected: 'deny' } }).supervisor).not.toBeNull();
  });

  test('takes every budget that a supervisor takes (SPEC §2.3)', () => {
    for (const maxSteps of [0, 1, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
      const config = { agentProfile: { resourceBudget: { maxSteps } } };
      expect(createEnforcement({ config }).supervisor.rules.maxSteps).toBe(maxSteps);
    }
  });
});

describe('A configuration with faults: one error that lists each with its place', () => {
  test('all at once', () => {
    const lines = faultLines({
      agentProfile: { resourceBudget: { maxSteps: -1, maxLoopsPerPhase: '3' } },
      enabledChecks: 'dfa',
      dfa: {
        phases: ['reviewing', 'OK', 5],
        addTransitions: [['IDLE'], 'IDLE', ['IDLE', 'a.b']],
        onToolError: 'ignore',
        parallel: 1,
        colour: 'red',
      },
      extra: true,
    });
    expect(lines.toSorted()).toEqual(
      [
        'agentProfile.resourceBudget.maxSteps: must be a whole number of 0 or more, got -1',
        'agentProfile.resourceBudget.maxLoopsPerPhase: must be a whole number of 0 or more, got "3"',
        'enabledChecks: must be a list, got "dfa"',
        'dfa.phases.0: must be the name of a phase, ^[A-Z][A-Z0-9_]*$ (as in REVIEWING), got "reviewing"',
        'dfa.phases.2: must be a text, got 5',
        'dfa.addTransitions.0: must be a pair [FROM, TO]',
        'dfa.addTransitions.1: must be a pair [FROM, TO], got "IDLE"',
        'dfa.addTransitions.2.1: must be the name of a phase, ^[A-Z][A-Z0-9_]*$ (as in REVIEWING), got "a.b"',
        'dfa.onToolError: must be "hold" or "observe", got "ignore"',
        'dfa.parallel: must be "serialize" or "concurrent", got 1',
        'dfa.colour: is no key; there are: phases, addTransitions, removeTransitions, onToolError, onBudgetExhausted, onRejected, parallel',
        'extra: is no key; there are: $schema, agentProfile, enabledChecks, dfa',
      ].toSorted(),
    );
  });

  test('its message names the source, the number of faults, and each of them', () => {
    const parse = () => parseConfig({ dfa: { phases: ['x'] }, extra: 1 }, 'phasegate.yaml');
    expect(parse).toThrow(ConfigError);
    expect(parse).toThrow(
      /^phasegate\.yaml: 2 faults\n {2}dfa\.phases\[0\]: must be .*\n {2}extra: is no key/,
    );
    expect(() => parseConfig({ extra: 1 })).toThrow(
      expect.objectContaining({
        code: 'invalid-config',
        message: expect.stringMatching(/^configuration: 1 fault\n/),
      }),
    );
  });

  const wholes: [string, unknown][] = [
    ['null', null],
    ['undefined', undefined],
    ['a text', 'agentProfile'],
    ['a number', 5],
    ['a list', []],
    ['a function', () => ({})],
  ];
  test.each(wholes)('%s is none', (_, value) => {
    expect(faultLines(value)).toHaveLength(1);
    expect(faultLines(value)[0]).toMatch(/must be a mapping of keys to values, got /);
  });

  test.each([
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    ['20', '"20"'],
    [null, 'null'],
    [true, 'true'],
    [[20], 'an array'],
    [2 ** 53, '9007199254740992'],
  ])('a budget of %j', (maxSteps, got) => {
    expect(faultLines({ agent_profile: { resource_budget: { max_steps: maxSteps } } })).toEqual([
      `agent_profile.resource_budget.max_steps: must be a whole number of 0 or more, got ${got}`,
    ]);
  });

  test.each(['', 'constructor', '__proto__', 'a.b', 'A B', 'Ä'])('a phase of the name %j', (name) => {
    expect(faultLines({ dfa: { phases: [name] } })).toEqual([
      `dfa.phases.0: must be the name of a phase, ^[A-Z][A-Z0-9_]*$ (as in REVIEWING), got ${JSON.stringify(name)}`,
    ]);
  });

  test('edges that are impossible, with the reason of §1.3', () => {
    const dfa = {
      phases: ['REVIEWING'],
      addTransitions: [
        ['REVIEWING', 'PLANNING'],
        ['ANSWERING', 'PLANNING'],
        ['IDLE', 'REVEIWING'],
      ],
      removeTransitions: [['PLANING', 'ACTING']],
    };
    const lines = faultLines({ dfa });
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^dfa\.addTransitions\.1: .*ANSWERING -> PLANNING.*ANSWERING is terminal/);
    expect(lines[1]).toMatch(/^dfa\.addTransitions\.2: .*IDLE -> REVEIWING.*no phase "REVEIWING"/);
    expect(lines[2]).toMatch(/^dfa\.removeTransitions\.0: .*PLANING -> ACTING.*no phase "PLANING"/);
  });

  test('pairs that are none: what is wrong of the pair is told of it, and of its names what is wrong of them', () => {
    const addTransitions = [
      [],
      ['idle'],
      ['IDLE', 'PLANNING', 'x'],
      ['IDLE', 'x', 'PLANNING'],
      [undefined, 'IDLE'],
    ];
    expect(faultLines({ dfa: { addTransitions } })).toEqual([
      'dfa.addTransitions.0: must be a pair [FROM, TO]',
      'dfa.addTransitions.1: must be a pair [FROM, TO]',
      'dfa.addTransitions.2: must be a pair [FROM, TO]',
      'dfa.addTransitions.3: must be a pair [FROM, TO]',
      expect.stringMatching(/^dfa\.addTransitions\.3\.1: must be the name of a phase, /),
      'dfa.addTransitions.4.0: must be a text, got undefined',
    ]);
  });

  test('several unknown keys of one mapping: each of them', () => {
    expect(faultsOf({ a: 1, constructor: 1, dfa: { b: 1, c: 1 } }).map(({ path }) => path.join('.'))).toEqual(
      ['a', 'constructor', 'dfa.b', 'dfa.c'],
    );
  });

  test('impossible edges and other faults together: every fault is listed', () => {
    const dfa = { addTransitions: [['ANSWERING', 'PLANNING']], onToolEror: 'hold' };
    expect(faultLines({ dfa })).toHaveLength(2);
  });

  test('a key in camel case and in snake case at once', () => {
    expect(faultLines({ agentProfile: {}, agent_profile: {} })).toEqual([
      'agent_profile: is there twice, in camel case and in snake case; keep one',
    ]);
    expect(faultLines({ dfa: { on_rejected: 'deny', onRejected: 'deny', parallel: 'no' } })).toHaveLength(2);
  });

  test('an enabled check that no one has, when the monitor is made', () => {
    expect(() => createMonitor({ enabledChecks: ['dfa', 'no-mail'] })).toThrow(/"no-mail".*There are: dfa$/);
  });
});

describe('A key that is none: the one that was probably meant', () => {
  test.each([
    ['agentProfle', { agentProfle: {} }, 'agentProfle: is no key; did you mean agentProfile?'],
    ['in snake case', { agent_profle: {} }, 'agent_profle: is no key; did you mean agentProfile?'],
    ['in capitals', { DFA: {} }, 'DFA: is no key; did you mean dfa?'],
    [
      'deep down',
      { dfa: { on_tool_eror: 'hold' } },
      'dfa.on_tool_eror: is no key; did you mean onToolError?',
    ],
    [
      'in the wrong place',
      { maxSteps: 20 },
      'maxSteps: is no key here; did you mean agentProfile.resourceBudget.maxSteps?',
    ],
    [
      'in the wrong place and in snake case',
      { agent_profile: { max_steps: 20 } },
      'agent_profile.max_steps: is no key here; did you mean agentProfile.resourceBudget.maxSteps?',
    ],
    [
      'far from all',
      { colour: 1 },
      'colour: is no key; there are: $schema, agentProfile, enabledChecks, dfa',
    ],
  ])('%s', (_, value, line) => {
    expect(faultLines(value)).toEqual([line]);
  });
});

describe('Keys and values that lie in wait', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', ''])(
    'the key %j is none, at any depth, and pollutes nothing',
    (key) => {
      const evil = JSON.parse(`{ ${JSON.stringify(key)}: { "maxSteps": 1, "polluted": true } }`);
      expect(faultsOf(evil).map(({ path }) => path)).toEqual([[key]]);
      expect(faultsOf({ agentProfile: evil }).map(({ path }) => path)).toEqual([['agentProfile', key]]);
      expect(faultsOf({ dfa: evil })).toHaveLength(1);
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    },
  );

  test('inherited keys are not read', () => {
    const config: unknown = Object.create({ agentProfile: { resourceBudget: { maxSteps: 1 } } });
    expect(parseConfig(config)).toEqual({});
  });

  test('no code of a function runs to say that it is wrong', () => {
    const trap = Object.setPrototypeOf(() => 'IDLE', {
      get constructor() {
        throw new Error('was run');
      },
    });
    expect(faultLines(trap)).toEqual([': must be a mapping of keys to values, got a function']);
    expect(faultLines({ dfa: { phases: [trap], parallel: trap } })).toEqual([
      'dfa.phases.0: must be a text, got a function',
      'dfa.parallel: must be "serialize" or "concurrent", got a function',
    ]);
  });

  test('a circle is a fault like any other, and no overflow', () => {
    const circle: { dfa?: unknown } = {};
    circle.dfa = circle;
    expect(faultsOf(circle).length).toBeGreaterThan(0);
  });

  test('whatever comes, there is a configuration or an error that lists faults', () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 3, withNullPrototype: true }), (value) => {
        const wraps = [
          value,
          { dfa: value },
          { agentProfile: { resourceBudget: value } },
          { enabledChecks: value },
        ];
        for (const wrapped of wraps) {
          try {
            parseConfig(wrapped);
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError);
            expect((error as ConfigError).faults.length).toBeGreaterThan(0);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('The JSON Schema', () => {
  type Schema = {
    readonly type?: string;
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly additionalProperties?: boolean;
    readonly items?: Schema | false;
    readonly prefixItems?: readonly Schema[];
    readonly minItems?: number;
    readonly maxItems?: number;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly pattern?: string;
    readonly enum?: readonly unknown[];
    readonly description?: string;
    readonly default?: unknown;
  };
  const schema = configJsonSchema() as Schema & { readonly $schema: string; readonly title: string };
  const KNOWN = new Set(
    '$schema title type properties additionalProperties items prefixItems minItems maxItems minimum maximum pattern enum description default'.split(
      ' ',
    ),
  );

  /** As much of JSON Schema as this one uses. */
  function accepts(rule: Schema, value: unknown): boolean {
    for (const keyword of Object.keys(rule)) {
      if (!KNOWN.has(keyword)) throw new Error(`the test knows no ${keyword}`);
    }
    if (rule.enum !== undefined && !rule.enum.includes(value)) return false;
    switch (rule.type) {
      case 'object': {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
        const properties = new Map(Object.entries(rule.properties ?? {}));
        return Object.entries(value).every(([key, item]) => {
          const inner = properties.get(key);
          return inner === undefined ? rule.additionalProperties !== false : accepts(inner, item);
        });
      }
      case 'array': {
        if (!Array.isArray(value)) return false;
        const { prefixItems = [], items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = rule;
        if (value.length < minItems || value.length > maxItems) return false;
        return value.every((item, i) => {
          const inner = prefixItems[i] ?? items;
          return inner === undefined || (inner !== false && accepts(inner, item));
        });
      }
      case 'string':
        return (
          typeof value === 'string' && (rule.pattern === undefined || new RegExp(rule.pattern).test(value))
        );
      case 'integer': {
        const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = rule;
        return typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
      }
      default:
        throw new Error(`the test knows no type ${rule.type}`);
    }
  }

  test('says what it is, and describes every leaf for an editor', () => {
    expect(schema.$schema).toContain('json-schema.org');
    expect(schema.title).toBe('phasegate configuration');
    const leaves = (rule: Schema): Schema[] =>
      rule.properties === undefined ? [rule] : Object.values(rule.properties).flatMap(leaves);
    expect(leaves(schema)).toHaveLength(11);
    for (const leaf of leaves(schema)) expect(leaf.description).toMatch(/\.$/);
  });

  test('names the defaults that hold', () => {
    const { rules } = createSupervisor();
    for (const budget of ['maxSteps', 'maxLoopsPerPhase'] as const) {
      expect(at('agentProfile', 'resourceBudget', budget)).toMatchObject({ default: rules[budget] });
    }
    for (const policy of ['onToolError', 'onBudgetExhausted', 'onRejected'] as const) {
      expect(at('dfa', policy)).toMatchObject({ default: rules[policy] });
    }
    expect(at('dfa', 'parallel')).toMatchObject({ default: 'serialize' });
  });

  function at(...keys: string[]): Schema | undefined {
    return keys.reduce<Schema | undefined>((rule, key) => rule?.properties?.[key], schema);
  }

  const samples: [boolean, unknown][] = [
    [true, {}],
    [true, FULL],
    [true, { $schema: 'https://example.org/schema.json' }],
    [true, { agentProfile: {} }],
    [true, { agentProfile: { resourceBudget: { maxSteps: 0 } } }],
    [true, { enabledChecks: [] }],
    [true, { dfa: { phases: [], addTransitions: [], removeTransitions: [] } }],
    [false, []],
    [false, null],
    [false, 'dfa'],
    [false, { extra: 1 }],
    [false, { agentProfile: { maxSteps: 1 } }],
    [false, { agentProfile: { resourceBudget: { maxSteps: -1 } } }],
    [false, { agentProfile: { resourceBudget: { maxSteps: 1.5 } } }],
    [false, { agentProfile: { resourceBudget: { maxSteps: '1' } } }],
    [false, { agentProfile: { resourceBudget: { maxSteps: 2 ** 53 } } }],
    [true, { agentProfile: { resourceBudget: { maxSteps: 2 ** 53 - 1 } } }],
    [false, { agentProfile: null }],
    [false, { enabledChecks: 'dfa' }],
    [false, { enabledChecks: [1] }],
    [false, { dfa: { phases: ['reviewing'] } }],
    [false, { dfa: { phases: [''] } }],
    [false, { dfa: { phases: 'REVIEWING' } }],
    [false, { dfa: { addTransitions: [['IDLE']] } }],
    [false, { dfa: { addTransitions: [['IDLE', 'ACTING', 'IDLE']] } }],
    [false, { dfa: { addTransitions: [['IDLE', 'a.b']] } }],
    [false, { dfa: { addTransitions: ['IDLE'] } }],
    [false, { dfa: { removeTransitions: [[1, 2]] } }],
    [false, { dfa: { onToolError: 'deny' } }],
    [false, { dfa: { onBudgetExhausted: 'hold' } }],
    [false, { dfa: { onRejected: true } }],
    [false, { dfa: { parallel: 'both' } }],
  ];
  test.each(samples)('accepts what parseConfig accepts, and no more: %s for %j', (right, value) => {
    expect(accepts(schema, value)).toBe(right);
    expect(faultsOf(value).length === 0).toBe(right);
  });

  test('and so for anything that is like a configuration', () => {
    const name = fc.constantFrom('REVIEWING', 'IDLE', 'PLANNING', 'reviewing', '', 'A B');
    const part = <T>(arbitrary: fc.Arbitrary<T>) =>
      fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: fc.jsonValue() });
    const edge = part(fc.array(part(name), { maxLength: 3 }));
    const like = fc.record(
      {
        agentProfile: part(
          fc.record(
            {
              resourceBudget: part(
                fc.record(
                  { maxSteps: part(fc.integer({ min: -1, max: 5 })), maxLoopsPerPhase: part(fc.nat(5)) },
                  { requiredKeys: [] },
                ),
              ),
            },
            { requiredKeys: [] },
          ),
        ),
        enabledChecks: part(fc.array(fc.string())),
        dfa: part(
          fc.record(
            {
              phases: part(fc.array(part(name), { maxLength: 3 })),
              addTransitions: part(fc.array(edge, { maxLength: 2 })),
              onToolError: part(fc.constantFrom('hold', 'observe', 'deny')),
            },
            { requiredKeys: [] },
          ),
        ),
      },
      { requiredKeys: [] },
    );
    const impossible = (message: string) => /impossible/.test(message);
    fc.assert(
      fc.property(part(like), (value) => {
        // Which phases there are, and that terminal ones stay so, is beyond a schema.
        const faults = faultsOf(value).filter(({ message }) => !impossible(message));
        expect(accepts(schema, value)).toBe(faults.length === 0);
      }),
      { numRuns: 500 },
    );
  });
});
