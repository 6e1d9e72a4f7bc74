import { closest, distance } from 'fastest-levenshtein';
import * as z from 'zod/mini';
import { describe } from './describe.ts';
import { PhasegateError } from './errors.ts';
import { DEFAULT_TRANSITIONS, PHASE_NAME, type Phase, type Transition } from './phases.ts';
import type { SupervisorOptions } from './rules.ts';
import { Table } from './table.ts';

/** What can be configured, in a file or as an object. Everything has a default. */
export interface Config {
  /** Where the file says which schema it follows, for editors. */
  readonly $schema?: string | undefined;
  readonly agentProfile?:
    | {
        readonly resourceBudget?:
          | {
              /** How many calls of a run may end well (SPEC §2.1). */
              readonly maxSteps?: number | undefined;
              /** How many self-loops a phase may have before it is left (SPEC §2.2). */
              readonly maxLoopsPerPhase?: number | undefined;
            }
          | undefined;
      }
    | undefined;
  /** Which checks run, in this order (SPEC §7, §8). */
  readonly enabledChecks?: readonly string[] | undefined;
  readonly dfa?:
    | {
        /** Phases besides the seven. */
        readonly phases?: readonly Phase[] | undefined;
        readonly addTransitions?: readonly Transition[] | undefined;
        readonly removeTransitions?: readonly Transition[] | undefined;
        readonly onToolError?: 'hold' | 'observe' | undefined;
        readonly onBudgetExhausted?: 'deny' | 'terminate' | undefined;
        readonly onRejected?: 'deny' | 'terminate' | undefined;
        readonly parallel?: 'serialize' | 'concurrent' | undefined;
      }
    | undefined;
}

/** Where something is written: keys and indexes. */
type Place = readonly (string | number)[];

/** One thing that is wrong in a configuration. */
export interface ConfigFault {
  /** Where, as it is written: keys and indexes. */
  readonly path: Place;
  /** What was expected, what came, and what was probably meant. */
  readonly message: string;
  /** Whether it is the key that is wrong, and not its value. */
  readonly isKey?: boolean | undefined;
  /** The place in the file, from 1, where there is a file. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** A configuration that cannot be used: every fault of it, with its place. `code` is `invalid-config`. */
export class ConfigError extends PhasegateError {
  readonly faults: readonly ConfigFault[];

  constructor(source: string, faults: readonly ConfigFault[], options?: ErrorOptions) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super(
      'invalid-config',
      `${source}: ${count}\n${faults.map((fault) => `  ${line(fault)}`).join('\n')}`,
      options,
    );
    this.faults = faults;
  }
}

function budget(description: string, fallback: number) {
  const schema = z.custom<number>(
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 0),
    { error: ({ input }) => `must be a whole number of 0 or more, got ${describe(input)}` },
  );
  return z.optional(
    schema.register(z.globalRegistry, {
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: fallback,
      description,
    }),
  );
}

function choice<const T extends string>(description: string, ...values: [T, ...T[]]) {
  return z.optional(z.enum(values).register(z.globalRegistry, { default: values[0], description }));
}

function described<T extends z.core.$ZodType>(schema: T, description: string): T {
  z.globalRegistry.add(schema, { description });
  return schema;
}

const phase = () => z.string().check(z.regex(PHASE_NAME));
const transitions = (description: string) =>
  z.optional(described(z.array(z.tuple([phase(), phase()])), `${description}, each as [FROM, TO].`));

// Made when a configuration is first read: most programs never do.
let made: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  return z.strictObject({
    $schema: z.optional(described(z.string(), 'The schema that this file follows, for editors.')),
    agentProfile: z.optional(
      z.strictObject({
        resourceBudget: z.optional(
          z.strictObject({
            maxSteps: budget('How many tool calls of a run may end well.', 50),
            maxLoopsPerPhase: budget(
              'How many self-loops a phase may have before it is left: nested calls, and retries after a failure.',
              3,
            ),
          }),
        ),
      }),
    ),
    enabledChecks: z.optional(
      described(
        z.array(z.string()),
        'Which checks run, in this order. Without "dfa" no budget and no table is enforced.',
      ),
    ),
    dfa: z.optional(
      z.strictObject({
        phases: z.optional(described(z.array(phase()), 'Phases besides the seven, each as in REVIEWING.')),
        addTransitions: transitions('Transitions to make legal'),
        removeTransitions: transitions('Transitions to make illegal'),
        onToolError: choice('Where a failed call leaves the run.', 'hold', 'observe'),
        onBudgetExhausted: choice(
          'Whether a run that is refused for a budget ends, in EXHAUSTED.',
          'deny',
          'terminate',
        ),
        onRejected: choice('Whether a run that a check refused ends, in REJECTED.', 'deny', 'terminate'),
        parallel: choice(
          'What a top-level call does that comes while others run.',
          'serialize',
          'concurrent',
        ),
      }),
    ),
  });
}

function configSchema() {
  made ??= makeSchema();
  return made;
}

/** The JSON Schema of a configuration, from the same source as the checks of {@link parseConfig}. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema(), { unrepresentable: 'any' });
  return { ...schema, title: 'phasegate configuration' };
}

/**
 * Checks a configuration, in camel case or in snake case.
 *
 * @param value What was read from a file, or written in code.
 * @param source What to call it in the error. @default 'configuration'
 * @returns The configuration in camel case.
 * @throws {ConfigError} with every fault.
 * @example
 * const config = parseConfig({ agent_profile: { resource_budget: { max_steps: 20 } } });
 * createEnforcement({ config });
 */
export function parseConfig(value: unknown, source = 'configuration'): Config {
  const written = new Map<string, Place>();
  const faults: ConfigFault[] = [];
  const camel = inCamelCase(value, [], [], written, faults);
  const place = (path: readonly PropertyKey[]) =>
    written.get(path.join('\0')) ?? (path as (string | number)[]);
  const result = configSchema().safeParse(camel);
  for (const issue of result.error?.issues ?? []) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        faults.push({ path: place([...issue.path, key]), message: unknownKey(issue.path, key), isKey: true });
      }
    } else {
      faults.push({ path: place(issue.path), message: messageOf(issue, valueAt(camel, issue.path)) });
    }
  }
  faults.push(...impossibleEdges(camel, place));
  if (faults.length > 0) throw new ConfigError(source, inOrder(faults, [...written.values()]));
  return result.data as Config;
}

/** The faults in the order in which their places are written. */
function inOrder(faults: readonly ConfigFault[], places: readonly Place[]): readonly ConfigFault[] {
  const order = new Map(places.map((path, i) => [path.join('\0'), i]));
  const index = ({ path }: ConfigFault) => order.get(path.join('\0')) ?? places.length;
  return [...faults].sort((one, other) => index(one) - index(other));
}

/** The options of the supervisor that a configuration describes; `undefined` when it says nothing of one. */
export function supervisorOptions(config: Config): SupervisorOptions | undefined {
  const { dfa, agentProfile } = config;
  const { maxSteps, maxLoopsPerPhase } = agentProfile?.resourceBudget ?? {};
  const { parallel: _, ...rules } = dfa ?? {};
  const said = [maxSteps, maxLoopsPerPhase, ...Object.values(rules)];
  if (said.every((option) => option === undefined)) return undefined;
  const { phases, addTransitions = [], removeTransitions = [], ...policies } = rules;
  const removed = new Set(removeTransitions.map(String));
  const transitions = [...DEFAULT_TRANSITIONS, ...addTransitions].filter(
    (edge) => !removed.has(String(edge)),
  );
  return { maxSteps, maxLoopsPerPhase, phases, transitions, ...policies };
}

// An edge that is added must be possible, and so must one that is removed: a slip in a name would else go unseen. Looked at
// whatever else is wrong, so that one error says all there is to mend.
function impossibleEdges(camel: unknown, place: (path: readonly PropertyKey[]) => Place): ConfigFault[] {
  const dfa = valueAt(camel, ['dfa']) as Readonly<Record<string, unknown>> | undefined;
  const phases = (Array.isArray(dfa?.['phases']) ? dfa['phases'] : []).filter(isPhaseName);
  return ['addTransitions', 'removeTransitions'].flatMap((key) => {
    const edges: unknown = dfa?.[key];
    if (!Array.isArray(edges)) return [];
    return edges.flatMap((edge: unknown, index) => {
      if (!Array.isArray(edge) || edge.length !== 2 || !edge.every(isPhaseName)) return [];
      try {
        Table.of(phases, [edge as unknown as Transition]);
        return [];
      } catch (error) {
        return [{ path: place(['dfa', key, index]), message: (error as Error).message }];
      }
    });
  });
}

function isPhaseName(name: unknown): name is Phase {
  return typeof name === 'string' && PHASE_NAME.test(name);
}

const DEEPEST = 4;

/** Renames the keys, and remembers how and where each was written. */
function inCamelCase(
  value: unknown,
  path: Place,
  writtenPath: Place,
  written: Map<string, Place>,
  faults: ConfigFault[],
): unknown {
  written.set(path.join('\0'), writtenPath);
  if (Array.isArray(value)) {
    return value.map((item, i) => inCamelCase(item, [...path, i], [...writtenPath, i], written, faults));
  }
  // No key lies so deep: what does is refused as it is, and a circle comes to its end.
  if (typeof value !== 'object' || value === null || path.length > DEEPEST) return value;
  const entries = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (entries.has(camel)) {
      faults.push({
        path: [...writtenPath, key],
        message: 'is there twice, in camel case and in snake case; keep one',
        isKey: true,
      });
    }
    entries.set(camel, inCamelCase(item, [...path, camel], [...writtenPath, key], written, faults));
  }
  return Object.fromEntries(entries);
}

function messageOf(issue: z.core.$ZodIssue, input: unknown): string {
  switch (issue.code) {
    case 'invalid_value':
      return `must be ${issue.values.map((value) => describe(value)).join(' or ')}, got ${describe(input)}`;
    case 'invalid_format':
      return `must be the name of a phase, ${PHASE_NAME.source} (as in REVIEWING), got ${describe(input)}`;
    case 'invalid_type':
      return `must be ${NAMES[issue.expected] ?? issue.expected}, got ${describe(input)}`;
    case 'too_big':
    case 'too_small':
      return 'must be a pair [FROM, TO]';
    default:
      return issue.message;
  }
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'a mapping of keys to values',
  array: 'a list',
  tuple: 'a pair [FROM, TO]',
  string: 'a text',
};

function unknownKey(path: readonly PropertyKey[], key: string): string {
  const here = keysAt(path);
  const near = here.length === 0 ? undefined : closest(key, here);
  if (near !== undefined && isNear(key, near)) return `is no key; did you mean ${near}?`;
  const elsewhere = ALL_KEYS().find((known) => isNear(key, known.at(-1) as string));
  if (elsewhere !== undefined) return `is no key here; did you mean ${elsewhere.join('.')}?`;
  return `is no key; there are: ${here.join(', ')}`;
}

function isNear(key: string, known: string): boolean {
  return distance(key.toLowerCase(), known.toLowerCase()) <= Math.max(1, Math.floor(known.length / 3));
}

function keysAt(path: readonly PropertyKey[]): string[] {
  const prefix = path.join('\0');
  return ALL_KEYS()
    .filter((known) => known.slice(0, -1).join('\0') === prefix)
    .map((known) => known.at(-1) as string);
}

function ALL_KEYS(): string[][] {
  const walk = (schema: z.core.$ZodType, path: string[]): string[][] => {
    const inner = schema instanceof z.ZodMiniOptional ? schema._zod.def.innerType : schema;
    if (!(inner instanceof z.ZodMiniObject)) return [];
    return Object.entries(inner.shape).flatMap(([key, child]) => {
      const here = [...path, key];
      return [here, ...walk(child as z.core.$ZodType, here)];
    });
  };
  return walk(configSchema(), []);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

function line({ path, message, line: row, column }: ConfigFault): string {
  const where = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  const at = row === undefined ? '' : ` (line ${row}, column ${column})`;
  return `${where.replace(/^\./, '') || 'the whole'}${at}: ${message}`;
}
