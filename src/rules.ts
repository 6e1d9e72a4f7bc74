import { type Budgets, isCount } from './decide.ts';
import { describe } from './describe.ts';
import { invalidArgument, PhasegateError } from './errors.ts';
import { checkOptions } from './options.ts';
import { DEFAULT_TRANSITIONS, type Phase, type Transition } from './phases.ts';
import { DEFAULT_TABLE, Table } from './table.ts';

/** What a supervisor is made of. Everything has a default. */
export interface SupervisorOptions {
  /**
   * How many calls of a run may end well. A whole number of 0 or more, or `Infinity`; 0 refuses all (SPEC §2.1, §2.3).
   * @default 50
   */
  readonly maxSteps?: number | undefined;
  /**
   * How many self-loops a phase may have before it is left for another: nested calls, and retries after a failure.
   * A whole number of 0 or more, or `Infinity` (SPEC §2.2, §2.3).
   * @default 3
   */
  readonly maxLoopsPerPhase?: number | undefined;
  /** Phases besides the seven, each as in `REVIEWING` (SPEC §1.3). */
  readonly phases?: readonly Phase[] | undefined;
  /**
   * The legal transitions, all of them (SPEC §1).
   * @default DEFAULT_TRANSITIONS
   */
  readonly transitions?: readonly Transition[] | undefined;
  /**
   * Where a failed call leaves the run: `hold` keeps it in ACTING, so that the loop budget bounds the retries;
   * `observe` moves it to OBSERVING as a good end does (SPEC §5.5).
   * @default 'hold'
   */
  readonly onToolError?: 'hold' | 'observe' | undefined;
  /**
   * Whether a run ends, in EXHAUSTED, when a top-level call is refused for a budget and nothing is in flight (SPEC §6.5).
   * @default 'deny'
   */
  readonly onBudgetExhausted?: 'deny' | 'terminate' | undefined;
  /**
   * Whether a run ends, in REJECTED, when a monitor check refused a top-level call and nothing is in flight (SPEC §6.5).
   * @default 'deny'
   */
  readonly onRejected?: 'deny' | 'terminate' | undefined;
}

/** What a run is held to from its beginning to its end: table, budgets and policies. It never changes. */
export interface Rules extends Budgets {
  readonly table: Table;
  readonly onToolError: 'hold' | 'observe';
  readonly onBudgetExhausted: 'deny' | 'terminate';
  readonly onRejected: 'deny' | 'terminate';
}

/**
 * Checks the options of a supervisor.
 *
 * @throws {PhasegateError} `invalid-budget`, `invalid-phase`, `invalid-transition` or `invalid-argument`.
 */
export function createRules(options: SupervisorOptions): Rules {
  checkOptions('a supervisor', options, SUPERVISOR_OPTIONS);
  // Runs that are live share them, so nobody may change them.
  return Object.freeze({
    table: createTable(options.phases, options.transitions),
    maxSteps: budget('maxSteps', options.maxSteps, 50),
    maxLoopsPerPhase: budget('maxLoopsPerPhase', options.maxLoopsPerPhase, 3),
    onToolError: oneOf('onToolError', options.onToolError, ['hold', 'observe']),
    onBudgetExhausted: oneOf('onBudgetExhausted', options.onBudgetExhausted, ['deny', 'terminate']),
    onRejected: oneOf('onRejected', options.onRejected, ['deny', 'terminate']),
  });
}

/** The names of what a supervisor is made of. */
export const SUPERVISOR_OPTIONS = [
  'maxSteps',
  'maxLoopsPerPhase',
  'phases',
  'transitions',
  'onToolError',
  'onBudgetExhausted',
  'onRejected',
] as const satisfies readonly (keyof SupervisorOptions)[];

const hashes = new WeakMap<Rules, string>();

/** A short name of all that decides, the same wherever it is computed; not a proof against forgery (SPEC §11.1). */
export function hashRules(rules: Rules): string {
  let hash = hashes.get(rules);
  if (hash === undefined) {
    hash = fingerprint(textOf(rules));
    hashes.set(rules, hash);
  }
  return hash;
}

function textOf(rules: Rules): string {
  const { table, maxSteps, maxLoopsPerPhase, onToolError, onBudgetExhausted, onRejected } = rules;
  return JSON.stringify([
    table.phases,
    table.transitions,
    String(maxSteps),
    String(maxLoopsPerPhase),
    onToolError,
    onBudgetExhausted,
    onRejected,
  ]);
}

function createTable(
  phases: readonly Phase[] = [],
  transitions: readonly Transition[] = DEFAULT_TRANSITIONS,
): Table {
  if (!Array.isArray(phases)) throw invalidArgument('phases', 'an array of names', phases);
  if (!Array.isArray(transitions))
    throw invalidArgument('transitions', 'an array of [from, to]', transitions);
  for (const edge of transitions as readonly unknown[]) {
    if (!Array.isArray(edge) || edge.length !== 2)
      throw invalidArgument('A transition', 'a pair [from, to]', edge);
  }
  return phases.length === 0 && transitions === DEFAULT_TRANSITIONS
    ? DEFAULT_TABLE
    : Table.of(phases, transitions);
}

function budget(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (isCount(value)) return value;
  throw new PhasegateError(
    'invalid-budget',
    `${name} must be a whole number of 0 or more, or Infinity for no limit, got ${describe(value)}`,
  );
}

function oneOf<const T extends string>(name: string, value: T | undefined, choices: readonly [T, ...T[]]): T {
  if (value === undefined) return choices[0];
  if (choices.includes(value)) return value;
  throw invalidArgument(name, choices.map((choice) => `'${choice}'`).join(' or '), value);
}

// FNV-1a over UTF-16 code units, 64 bits in two halves: short, without a dependency, equal on every platform.
function fingerprint(text: string): string {
  const prime = 0x100000001b3n;
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * prime);
  }
  return hash.toString(16).padStart(16, '0');
}
