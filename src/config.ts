import { closest, distance } from 'fastest-levenshtein';
import * as v from 'valibot';
import { configSchema, entriesOf, isMapping } from './config-schema.ts';
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
  // Each of these has no keys, and would be taken for a configuration that says nothing.
  if (NO_MAPPINGS.some((kind) => value instanceof kind)) {
    const message =
      'must be a mapping of keys to values, got an object of another kind (a promise is to be awaited)';
    throw new ConfigError(source, [{ path: [], message }]);
  }
  const written = new Map<string, Place>();
  const faults: ConfigFault[] = [];
  const camel = inCamelCase(value, [], [], written, faults);
  const place = (path: Place) => written.get(path.join('\0')) ?? path;
  const result = v.safeParse(configSchema(), camel);
  for (const issue of result.issues ?? []) {
    // An unknown key: valibot tells of the first only, so they are looked for below.
    if (issue.type === 'strict_object') continue;
    const path = issue.path?.map(({ key }) => key as string | number) ?? [];
    // Of a pair with three names the pair is wrong, not the third name.
    if (issue.type === 'strict_tuple') path.pop();
    faults.push({ path: place(path), message: issue.message });
  }
  faults.push(...unknownKeys(configSchema(), camel, [], place), ...impossibleEdges(camel, place));
  if (faults.length > 0 || !result.typed) {
    throw new ConfigError(source, inOrder(faults, [...written.values()]));
  }
  return result.output;
}

const NO_MAPPINGS = [Promise, Map, Set, WeakMap, Date, RegExp, Error];

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
function impossibleEdges(camel: unknown, place: (path: Place) => Place): ConfigFault[] {
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
const HARMLESS = () => undefined;

/** A copy that is safe to look at, with its keys renamed. Remembers how and where each was written. */
function inCamelCase(
  value: unknown,
  path: Place,
  writtenPath: Place,
  written: Map<string, Place>,
  faults: ConfigFault[],
): unknown {
  written.set(path.join('\0'), writtenPath);
  // Of what is wrong valibot asks for the name of its constructor, and that of a function may be code.
  if (typeof value === 'function') return HARMLESS;
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

function unknownKeys(
  schema: v.GenericSchema,
  value: unknown,
  path: Place,
  place: (path: Place) => Place,
): ConfigFault[] {
  const entries = entriesOf(schema);
  if (entries === undefined || !isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const here = [...path, key];
    const inner = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (inner !== undefined) return unknownKeys(inner, item, here, place);
    return [{ path: place(here), message: unknownKey(key, Object.keys(entries)), isKey: true }];
  });
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = closest(key, known);
  if (isNear(key, near)) return `is no key; did you mean ${near}?`;
  const elsewhere = allKeys(configSchema()).find((path) => isNear(key, path.at(-1) as string));
  if (elsewhere !== undefined) return `is no key here; did you mean ${elsewhere.join('.')}?`;
  return `is no key; there are: ${known.join(', ')}`;
}

function isNear(key: string, known: string): boolean {
  return distance(key.toLowerCase(), known.toLowerCase()) <= Math.max(1, Math.floor(known.length / 3));
}

function allKeys(schema: v.GenericSchema, path: readonly string[] = []): string[][] {
  return Object.entries(entriesOf(schema) ?? {}).flatMap(([key, inner]) => {
    const here = [...path, key];
    return [here, ...allKeys(inner, here)];
  });
}

function valueAt(value: unknown, path: Place): unknown {
  return path.reduce<unknown>(
    (at, key) => (at as Record<string | number, unknown> | undefined)?.[key],
    value,
  );
}

function line({ path, message, line: row, column }: ConfigFault): string {
  const where = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  const at = row === undefined ? '' : ` (line ${row}, column ${column})`;
  return `${where.replace(/^\./, '') || 'the whole'}${at}: ${message}`;
}
