import { invalidArgument } from '../errors.ts';
import { explore, type Node, type Place } from '../graph.ts';
import { createPhaseMachine } from '../machine.ts';
import type { Rules } from '../rules.ts';
import type { Supervisor } from '../supervisor.ts';
import { coverGoals, type Goals, reachableGoals } from './cover.ts';
import {
  COVERS,
  type Cover,
  goalsOf,
  LONGEST,
  type Move,
  movesOf,
  type Uncovered,
  unreachedGoals,
} from './goals.ts';

/** One event of a path, and what must come of it. */
export interface TestStep {
  /** What happens: `propose.PLANNING`, `call.start`, `call.join`, `call.succeed`, `call.fail`. */
  readonly event: string;
  readonly allowed: boolean;
  /** Why it is refused; `null` when it is allowed. */
  readonly code: string | null;
  /** The state after it. */
  readonly state: Place;
}

/** A way through the machine, from the beginning of a run. */
export interface TestPath {
  readonly name: string;
  readonly steps: readonly TestStep[];
}

/** Paths that cover what was asked, and what no path covers. */
export interface PathSuite {
  readonly cover: Cover;
  readonly paths: readonly TestPath[];
  /** How many goals the paths cover: phases, transitions, pairs, or outcomes of guards. */
  readonly covered: number;
  readonly uncovered: readonly Uncovered[];
}

/** What to cover, and how. */
export interface PathOptions {
  /** @default 'transitions' */
  readonly cover?: Cover | undefined;
  /** Whether calls may join others on their visit to ACTING (SPEC §5.6). @default 'serialize' */
  readonly parallel?: 'serialize' | 'concurrent' | undefined;
}

// Budgets up to these are explored as a whole. Larger ones are explored near their ends: at the start of a run, and
// after so many good calls that few are left. In between nothing happens that does not happen at the start.
const WHOLE_STEPS = 5;
const NEAR_END = 5;

/**
 * Generates few and short paths through the machine of a supervisor.
 *
 * @throws {PhasegateError} `invalid-argument`.
 * @example
 * const { paths, uncovered } = generatePaths(createSupervisor({ maxSteps: 5 }), { cover: 'guards' });
 */
export function generatePaths(supervisor: Supervisor, options: PathOptions = {}): PathSuite {
  const { cover = 'transitions', parallel } = options;
  if (!COVERS.includes(cover))
    throw invalidArgument('cover', COVERS.map((name) => `'${name}'`).join(' or '), cover);
  if (parallel !== undefined && parallel !== 'serialize' && parallel !== 'concurrent') {
    throw invalidArgument('parallel', "'serialize' or 'concurrent'", parallel);
  }
  const { rules } = supervisor;
  const covered = new Set<string>();
  const found: Node[] = [];
  const paths: TestPath[] = [];
  for (const { after, nodes } of explorations(supervisor, parallel)) {
    const [start] = nodes;
    if (start === undefined) continue;
    found.push(...nodes);
    const goals: Goals = {
      movesOf: remembered((node: Node) => movesOf(cover, rules, node)),
      goalsOf: (move, before) => goalsOf(cover, move, before),
      inPairs: cover === 'pairs',
    };
    const reachable = reachableGoals(nodes, goals);
    const open = new Set([...reachable].filter((goal) => !covered.has(goal)));
    for (const path of coverGoals(start, goals, open)) paths.push(named(paths.length + 1, after, path));
    for (const goal of reachable) covered.add(goal);
  }
  // A run is in IDLE before its first event.
  if (cover === 'phases') covered.add('IDLE');
  return { cover, paths, covered: covered.size, uncovered: unreachedGoals(cover, rules, found, covered) };
}

interface Exploration {
  readonly after: readonly TestStep[];
  readonly nodes: readonly Node[];
}

function explorations(supervisor: Supervisor, parallel: PathOptions['parallel']): Exploration[] {
  const { rules } = supervisor;
  const { maxSteps, maxLoopsPerPhase } = rules;
  // No path comes near a budget that is longer than the longest path, so that any such one gives the same paths.
  const far = (budget: number) => Math.min(budget, LONGEST + 1);
  const machine = createPhaseMachine({
    ...rules,
    maxSteps: far(maxSteps),
    maxLoopsPerPhase: far(maxLoopsPerPhase),
  });
  const maxLoops = maxLoopsPerPhase > LONGEST ? NEAR_END : Number.POSITIVE_INFINITY;
  const whole = (after: readonly TestStep[]): Exploration => ({
    after,
    nodes: explore(machine, {
      parallel,
      after: after.map(({ event }) => event),
      within: ({ loopCount }) => loopCount < maxLoops,
    }),
  });
  if (maxSteps <= WHOLE_STEPS) return [whole([])];
  const nodes = explore(machine, {
    parallel,
    within: ({ stepCount, inFlight, loopCount }) => stepCount + inFlight < NEAR_END && loopCount < maxLoops,
  });
  const beginning = { after: [], nodes };
  if (maxSteps > LONGEST) return [beginning];
  const steps = goodCalls(rules, nodes, maxSteps - NEAR_END);
  if (steps !== undefined) return [beginning, whole(steps)];
  // ACTING is not entered again, so that one visit, which the loop budget bounds, is all there is.
  return parallel === 'concurrent' ? [beginning] : [whole([])];
}

/** One call after another, each ending well, up to a number of them; `undefined` where a run cannot go on like that. */
function goodCalls({ table }: Rules, nodes: readonly Node[], count: number): TestStep[] | undefined {
  const start = nodes[0]?.state;
  if (start === undefined || table.pathToActing('OBSERVING') === undefined) return undefined;
  const steps: TestStep[] = [];
  let at: Place = start;
  const step = (event: string, change: Partial<Place>) => {
    at = { ...at, loopCount: 0, ...change };
    steps.push({ event, allowed: true, code: null, state: at });
  };
  for (let call = 0; call < count; call++) {
    const path = table.pathToActing(at.phase);
    if (path === undefined) return undefined;
    for (const phase of path.slice(1, -1)) step(`propose.${phase}`, { phase });
    step('call.start', { phase: 'ACTING', inFlight: 1 });
    step('call.succeed', { phase: 'OBSERVING', inFlight: 0, stepCount: at.stepCount + 1 });
  }
  return steps;
}

function named(number: number, after: readonly TestStep[], path: readonly Move[]): TestPath {
  const own = path.map(
    ({ event, after: state, refused, code }): TestStep => ({ event, allowed: !refused, code, state }),
  );
  const last = own.at(-1);
  const how = last === undefined || last.allowed ? '' : `, where ${last.event} is refused (${last.code})`;
  return { name: `path ${number} to ${last?.state.phase ?? 'IDLE'}${how}`, steps: [...after, ...own] };
}

function remembered<K, V>(make: (key: K) => V): (key: K) => V {
  const values = new Map<K, V>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) {
      value = make(key);
      values.set(key, value);
    }
    return value;
  };
}
