/**
 * Proves what a machine must do, for all runs, or shows the shortest way to the fault.
 *
 * The counters are cut: the real machine is explored with budgets of at most `CUT`, and docs/verification.md shows why
 * the answers are those for any larger budgets too. So the time does not grow with `maxSteps`.
 */
import { refuseAction, refuseProposal } from '../decide.ts';
import { invalidArgument, PhasegateError } from '../errors.ts';
import {
  type Edge,
  explore,
  isEnd,
  isSame,
  type Node,
  nodesThatReach,
  type PathStep,
  type Place,
  pathTo,
  stepOf,
} from '../graph.ts';
import { createPhaseMachine, type PhaseMachine } from '../machine.ts';
import { isTerminal, type Phase, type Transition } from '../phases.ts';
import type { Rules } from '../rules.ts';
import type { Supervisor } from '../supervisor.ts';
import { warningsOf } from './warnings.ts';

/** What to verify besides the properties that every machine must have. */
export interface VerifyOptions {
  /** Transitions that no run may ever take. Ends from outside (`finish`, `abort`) do not count. */
  readonly never?: readonly Transition[] | undefined;
  /** Phases that lie on every way from OBSERVING to ACTING. */
  readonly alwaysVia?: readonly Phase[] | undefined;
  /** Whether calls may join others on their visit to ACTING (SPEC §5.6). @default 'serialize' */
  readonly parallel?: 'serialize' | 'concurrent' | undefined;
}

/** One property: whether it holds for all runs, and if not, what shows it. */
export interface Property {
  /** Stable name, such as `phases-reachable`. */
  readonly id: string;
  /** What is claimed. */
  readonly statement: string;
  readonly holds: boolean;
  /** What was found: paths where it holds, culprits where it does not. */
  readonly details: readonly string[];
  /** The shortest way to the fault; `null` where it holds, or where the fault is that there is no way. */
  readonly counterexample: readonly PathStep[] | null;
}

/** Something that is legal and may surprise. */
export interface Warning {
  readonly id: string;
  readonly message: string;
}

/** The answer of {@link verify}. */
export interface Verification {
  /** Whether all properties hold. */
  readonly holds: boolean;
  /** In a fixed order. */
  readonly properties: readonly Property[];
  readonly warnings: readonly Warning[];
  /** The budgets that the exploration was cut to, and how many states it found. */
  readonly explored: {
    readonly maxSteps: number;
    readonly maxLoopsPerPhase: number;
    readonly states: number;
  };
}

/** The largest budgets that are explored: larger ones change no answer (docs/verification.md). */
const CUT = { maxSteps: 3, maxLoopsPerPhase: 4 } as const;

/**
 * Verifies the table and budgets of a supervisor, for all runs that could ever be.
 *
 * @throws {PhasegateError} `unknown-phase` when an option names a phase that the table does not have; `invalid-argument`.
 * @example
 * const { holds, properties } = verify(createSupervisor({ maxSteps: 20 }));
 * if (!holds) console.log(properties.filter((property) => !property.holds));
 */
export function verify(supervisor: Supervisor, options: VerifyOptions = {}): Verification {
  return verifyMachine(supervisor.rules, options, createPhaseMachine);
}

/** As {@link verify}, for the machine that `build` makes of the cut rules: so a changed machine can be tried. */
export function verifyMachine(
  rules: Rules,
  options: VerifyOptions,
  build: (rules: Rules) => PhaseMachine,
): Verification {
  checkOptions(rules, options);
  const cut: Rules = {
    ...rules,
    maxSteps: Math.min(rules.maxSteps, CUT.maxSteps),
    maxLoopsPerPhase: cutLoops(rules.maxLoopsPerPhase),
  };
  const nodes = explore(build(cut), { parallel: options.parallel });
  const properties = [
    phasesReachable(rules, nodes),
    transitionsTaken(rules, nodes),
    actingReachable(rules, cut, nodes),
    noTrap(nodes),
    endsAreFinal(nodes),
    stepBudgetHolds(cut, nodes),
    loopBudgetHolds(cut, nodes),
    rulesKept(cut, nodes),
    ...(options.never ?? []).map((transition) => neverTaken(transition, nodes)),
    ...(options.alwaysVia ?? []).map((phase) => alwaysVia(phase, nodes)),
  ];
  return {
    holds: properties.every((property) => property.holds),
    properties,
    warnings: warningsOf(rules, nodes, options.parallel ?? 'serialize'),
    explored: { maxSteps: cut.maxSteps, maxLoopsPerPhase: cut.maxLoopsPerPhase, states: nodes.length },
  };
}

// No limit stays none: a loop budget that is never spent is another machine than one that is.
function cutLoops(maxLoopsPerPhase: number): number {
  return maxLoopsPerPhase === Number.POSITIVE_INFINITY
    ? maxLoopsPerPhase
    : Math.min(maxLoopsPerPhase, CUT.maxLoopsPerPhase);
}

function checkOptions({ table }: Rules, { never = [], alwaysVia: via = [], parallel }: VerifyOptions): void {
  if (parallel !== undefined && parallel !== 'serialize' && parallel !== 'concurrent') {
    throw invalidArgument('parallel', "'serialize' or 'concurrent'", parallel);
  }
  for (const phase of [...never.flat(), ...via]) {
    if (table.has(phase)) continue;
    throw new PhasegateError(
      'unknown-phase',
      `Unknown phase: ${JSON.stringify(phase)}. The table has ${table.phases.join(', ')}`,
    );
  }
}

// —— The properties, in the order of the answer ——

function phasesReachable({ table }: Rules, nodes: readonly Node[]): Property {
  const reached = new Set(nodes.map((node) => node.state.phase));
  const sources = new Set(table.transitions.map(([, to]) => to));
  // REJECTED and EXHAUSTED, when nothing is meant to lead into them, are a warning and no fault.
  const missing = table.phases.filter(
    (phase) =>
      !reached.has(phase) && !((phase === 'REJECTED' || phase === 'EXHAUSTED') && !sources.has(phase)),
  );
  return {
    id: 'phases-reachable',
    statement: 'Every phase can be reached from IDLE',
    holds: missing.length === 0,
    details: missing.map((phase) => `${phase} cannot be reached`),
    counterexample: null,
  };
}

function transitionsTaken({ table }: Rules, nodes: readonly Node[]): Property {
  const taken = new Set(moves(nodes).map(({ source, event }) => `${source.state.phase} ${event}`));
  const never = table.transitions.filter(([from, to]) => !taken.has(`${from} propose.${to}`));
  return {
    id: 'transitions-taken',
    statement: 'Every transition can be taken',
    holds: never.length === 0,
    details: never.map(([from, to]) => `${from} -> ${to} is never taken`),
    counterexample: null,
  };
}

function actingReachable({ table }: Rules, cut: Rules, nodes: readonly Node[]): Property {
  const admits = (node: Node) => node.edges.some((edge) => edge.event === 'call.start' && !edge.refused);
  const resting = (node: Node) => node.state.inFlight === 0;
  const good = nodesThatReach(
    nodes,
    (node) => resting(node) && admits(node),
    (edge) => resting(edge.source) && resting(edge.target),
  );
  const stuck = nodes.filter(
    (node) => resting(node) && !isEnd(node) && hasStep(cut, node) && !good.has(node),
  );
  const stuckPhases = new Set(stuck.map((node) => node.state.phase));
  const rested = new Set(
    nodes.filter((node) => resting(node) && hasStep(cut, node)).map((node) => node.state.phase),
  );
  const live = table.phases.filter((phase) => rested.has(phase) && !isTerminal(phase));
  return {
    id: 'acting-reachable',
    statement: 'ACTING can be reached from every phase that a run rests in between calls',
    holds: stuck.length === 0,
    details: live.map((phase) => {
      if (!stuckPhases.has(phase)) return `${phase}: ${(table.pathToActing(phase) ?? []).join(' -> ')}`;
      return phase === 'ACTING' && cut.maxLoopsPerPhase > 0
        ? 'ACTING: not once its loop budget is spent'
        : `${phase}: not at all`;
    }),
    counterexample: firstPath(stuck),
  };
}

function noTrap(nodes: readonly Node[]): Property {
  const free = nodesThatReach(nodes, isEnd);
  const reached = new Set(nodes.filter((node) => !isEnd(node)).map((node) => node.state.phase));
  const freePhases = new Set([...free].map((node) => node.state.phase));
  const traps = [...reached].filter((phase) => !freePhases.has(phase));
  return {
    id: 'no-trap',
    statement: 'Every live phase can reach a terminal one',
    holds: traps.length === 0,
    details: traps.map(
      (phase) => `${phase} cannot: only an end from outside (finish, abort) ends such a run`,
    ),
    counterexample: firstPath(nodes.filter((node) => traps.includes(node.state.phase))),
  };
}

function endsAreFinal(nodes: readonly Node[]): Property {
  return fromEdge(
    'ends-are-final',
    'No way leads out of a terminal phase, and no call is admitted there',
    moves(nodes).find((edge) => isEnd(edge.source)),
  );
}

function stepBudgetHolds(cut: Rules, nodes: readonly Node[]): Property {
  return fromEdge(
    'step-budget',
    'On no path do more than maxSteps calls end well',
    moves(nodes).find(({ source, event, after }) => {
      const { stepCount, inFlight } = after;
      const ended = event === 'call.succeed';
      const counted = stepCount - source.state.stepCount === (ended ? 1 : 0);
      const flying = inFlight - source.state.inFlight;
      const tracked = flying === (ended || event === 'call.fail' ? -1 : event.startsWith('call.') ? 1 : 0);
      return !counted || !tracked || stepCount + inFlight > cut.maxSteps;
    }),
  );
}

function loopBudgetHolds(cut: Rules, nodes: readonly Node[]): Property {
  return fromEdge(
    'loop-budget',
    'On no path does a self-loop go past its budget',
    moves(nodes).find(({ source, event, after }) => {
      const stays = source.state.phase === after.phase;
      const loops = event === `propose.${source.state.phase}` || event === 'call.start';
      const counted = stays
        ? after.loopCount - source.state.loopCount === (loops ? 1 : 0)
        : after.loopCount === 0;
      return !counted || after.loopCount > cut.maxLoopsPerPhase;
    }),
  );
}

function rulesKept(cut: Rules, nodes: readonly Node[]): Property {
  const fault = nodes
    .flatMap((node) => [...node.edges, ...silences(cut, node)])
    .find((edge) => !isSame(edge.after, placeAfter(cut, edge.source.state, edge.event)));
  return fromEdge(
    'rules-kept',
    'What the rules refuse leaves the state as it was; what they allow leads where they say',
    fault,
  );
}

/** Events that the rules allow and the machine does not know, as edges that change nothing. */
function silences({ table }: Rules, node: Node): Edge[] {
  const { phase } = node.state;
  const proposals = table.targetsOf(phase).map((target) => `propose.${target}`);
  const calls = phase === 'ACTING' ? ['call.start', 'call.succeed', 'call.fail'] : ['call.start'];
  return [...proposals, ...calls]
    .filter((event) => !node.edges.some((edge) => edge.event === event))
    .map((event) => ({ source: node, event, target: node, after: node.state, refused: true }));
}

function neverTaken([from, to]: Transition, nodes: readonly Node[]): Property {
  return fromEdge(
    `never ${from} -> ${to}`,
    `No run goes from ${from} to ${to}`,
    moves(nodes).find(({ source: { state }, after }) => {
      return state.phase === from && after.phase === to && (from !== to || after.loopCount > state.loopCount);
    }),
  );
}

function alwaysVia(phase: Phase, nodes: readonly Node[]): Property {
  const detours = nodes
    .filter((node) => node.state.phase === 'OBSERVING' && phase !== 'OBSERVING')
    .flatMap((node) => {
      const way = wayIntoActing(node, (target) => target.state.phase !== phase);
      return way === undefined ? [] : [[...pathTo(node), ...way.map(stepOf)]];
    })
    .sort((one, other) => one.length - other.length);
  return {
    id: `always-via ${phase}`,
    statement: `ACTING is never entered from OBSERVING but through ${phase}`,
    holds: detours.length === 0,
    details: [],
    counterexample: detours[0] ?? null,
  };
}

// —— What they share ——

/** The edges that are not refused, nearest first. */
function moves(nodes: readonly Node[]): Edge[] {
  return nodes.flatMap((node) => node.edges.filter((edge) => !edge.refused));
}

function fromEdge(id: string, statement: string, fault: Edge | undefined): Property {
  return {
    id,
    statement,
    holds: fault === undefined,
    details: [],
    counterexample: fault === undefined ? null : [...pathTo(fault.source), stepOf(fault)],
  };
}

function firstPath([nearest]: readonly Node[]): PathStep[] | null {
  return nearest === undefined ? null : pathTo(nearest);
}

function hasStep({ maxSteps }: Rules, { state }: Node): boolean {
  return state.stepCount + state.inFlight < maxSteps;
}

/** Where the rules lead from a place; the place itself when they refuse. */
function placeAfter(rules: Rules, place: Place, event: string): Place {
  const { phase, stepCount, loopCount, inFlight } = place;
  const { table } = rules;
  const at = { phase, stepCount, pending: inFlight, childPending: 0, loopCount, pendingLoops: 0 };
  const acting = phase === 'ACTING';
  if (event.startsWith('propose.')) {
    const target = event.slice('propose.'.length);
    if (refuseProposal(table, rules, at, target) !== undefined) return place;
    return { ...place, phase: target, loopCount: target === phase ? loopCount + 1 : 0 };
  }
  if (event === 'call.start') {
    // A call starts from ACTING or from a phase next to it; the hops before it are proposals.
    if (refuseAction(table, rules, at) !== undefined || !(acting || table.isLegal(phase, 'ACTING')))
      return place;
    return { phase: 'ACTING', stepCount, loopCount: acting ? loopCount + 1 : 0, inFlight: inFlight + 1 };
  }
  if (!acting || inFlight === 0) return place;
  if (event === 'call.join') {
    return refuseAction(table, rules, at, true) === undefined ? { ...place, inFlight: inFlight + 1 } : place;
  }
  const ok = event === 'call.succeed';
  const observes = inFlight === 1 && (ok || rules.onToolError === 'observe');
  return {
    phase: observes ? 'OBSERVING' : phase,
    stepCount: ok ? stepCount + 1 : stepCount,
    loopCount: observes ? 0 : loopCount,
    inFlight: inFlight - 1,
  };
}

/** The shortest way from a node into ACTING that stays on nodes that `allowed` holds for. */
function wayIntoActing(start: Node, allowed: (node: Node) => boolean): Edge[] | undefined {
  const cameBy = new Map<Node, Edge | undefined>([[start, undefined]]);
  for (const node of cameBy.keys()) {
    for (const edge of node.edges) {
      if (edge.refused || cameBy.has(edge.target) || !allowed(edge.target)) continue;
      cameBy.set(edge.target, edge);
      if (edge.target.state.phase === 'ACTING') return wayTo(edge.target, cameBy);
    }
  }
  return undefined;
}

function wayTo(node: Node, cameBy: ReadonlyMap<Node, Edge | undefined>): Edge[] {
  const way: Edge[] = [];
  for (let edge = cameBy.get(node); edge !== undefined; edge = cameBy.get(edge.source)) way.push(edge);
  return way.reverse();
}
