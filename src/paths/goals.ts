/** What paths can cover: every goal has a name, and an edge of the machine, or two edges in a row, reach it. */
import { type Position, type RefusalCode, refuseAction, refuseProposal } from '../decide.ts';
import type { Edge, Node } from '../graph.ts';
import { isTerminal, type Phase } from '../phases.ts';
import type { Rules } from '../rules.ts';

/** What is to be covered: every phase; every transition; every two that can follow each other; every guard both ways. */
export type Cover = 'phases' | 'transitions' | 'pairs' | 'guards';

/** The four that there are, in order. */
export const COVERS: readonly Cover[] = ['phases', 'transitions', 'pairs', 'guards'];

/** A path of more calls than this is no test that anyone wants to run. */
export const LONGEST = 1000;

/** An edge as a step of a path: why it is refused, if it is, and what it reaches by itself. */
export interface Move extends Edge {
  readonly code: RefusalCode | null;
  /** Names the transition that it takes. */
  readonly name: string;
  readonly goals: readonly string[];
}

/**
 * The moves of a node. Refused ones are there only where they are to be covered, and then also the proposals that the
 * table refuses, which no edge of the machine shows.
 */
export function movesOf(cover: Cover, rules: Rules, node: Node): Move[] {
  const { table } = rules;
  const { inFlight } = node.state;
  if (cover !== 'guards') {
    return node.edges.filter((edge) => !edge.refused).map((edge) => asMove(cover, rules, edge, null));
  }
  const known = new Set(node.edges.map((edge) => edge.event));
  const illegal = inFlight > 0 ? [] : table.phases.map((target) => `propose.${target}`);
  const refused = illegal
    .filter((event) => !known.has(event))
    .map((event): Edge => ({ source: node, event, target: node, after: node.state, refused: true }));
  return (
    [...node.edges, ...refused]
      .map((edge) => asMove(cover, rules, edge, edge.refused ? reasonOf(rules, edge) : null))
      // A refusal without a reason is no rule of ours: the end of a call when none is in flight.
      .filter((move) => !move.refused || move.code !== null)
  );
}

function asMove(cover: Cover, rules: Rules, edge: Edge, code: RefusalCode | null): Move {
  const { source, event, target, after, refused } = edge;
  const name = `${source.state.phase} -> ${after.phase} (${event})`;
  const goal = {
    phases: () => [after.phase],
    transitions: () => [name],
    pairs: () => [],
    guards: () => (isPlain(rules, edge, code) ? [guard(source.state.phase, event, code)] : []),
  };
  return { source, event, target, after, refused, code, name, goals: goal[cover]() };
}

// Where two budgets are spent, the second would hide that the first is not asked: so only one may be in the way.
function isPlain({ maxLoopsPerPhase }: Rules, { source, event }: Edge, code: RefusalCode | null): boolean {
  const { phase, loopCount } = source.state;
  const loops = event === `propose.${phase}` || (event === 'call.start' && phase === 'ACTING');
  return code !== 'step-budget' || !loops || loopCount < maxLoopsPerPhase;
}

/** The goals that a move reaches, coming after another. */
export function goalsOf(cover: Cover, move: Move, before: Move | undefined): readonly string[] {
  if (cover !== 'pairs') return move.goals;
  return before === undefined ? [] : [`${before.name}, then ${move.name}`];
}

/** A goal that no run reaches, and why. */
export interface Uncovered {
  readonly goal: string;
  readonly why: string;
}

/** The goals that a table promises and that were not reached. */
export function unreachedGoals(
  cover: Cover,
  rules: Rules,
  nodes: readonly Node[],
  reached: ReadonlySet<string>,
): Uncovered[] {
  const phases = new Set(nodes.map((node) => node.state.phase));
  return promised(cover, rules)
    .filter(({ goal }) => !reached.has(goal))
    .map(({ goal, phase, otherwise }) => ({
      goal,
      why: phases.has(phase) ? otherwise : `${phase} cannot be reached from IDLE`,
    }));
}

interface Promised {
  readonly goal: string;
  readonly phase: Phase;
  readonly otherwise: string;
}

function promised(cover: Cover, rules: Rules): Promised[] {
  const { table, maxSteps, maxLoopsPerPhase } = rules;
  const budgets = `not within ${maxSteps} steps and ${maxLoopsPerPhase} loops`;
  switch (cover) {
    case 'phases':
      return table.phases.map((phase) => ({ goal: phase, phase, otherwise: budgets }));
    case 'transitions':
      return table.transitions.map(([from, to]) => ({
        goal: `${from} -> ${to} (propose.${to})`,
        phase: from,
        otherwise: budgets,
      }));
    // Two transitions follow each other if some run takes them in a row: what is not found cannot be.
    case 'pairs':
      return [];
    case 'guards':
      return table.phases
        .filter((phase) => !isTerminal(phase))
        .flatMap((phase) =>
          guardsOf(rules, phase).map((goal) => ({ goal, phase, otherwise: whyNot(rules, phase, goal) })),
        );
  }
}

function guardsOf({ table }: Rules, phase: Phase): string[] {
  const acting = phase === 'ACTING';
  const proposals = table
    .targetsOf(phase)
    .flatMap((target) => [
      guard(phase, `propose.${target}`, null),
      guard(phase, `propose.${target}`, 'step-budget'),
      ...(target === phase ? [guard(phase, `propose.${target}`, 'loop-budget')] : []),
      ...(acting ? [guard(phase, `propose.${target}`, 'call-in-flight')] : []),
    ]);
  if (!acting && !table.isLegal(phase, 'ACTING')) return proposals;
  return [
    ...proposals,
    guard(phase, 'call.start', null),
    guard(phase, 'call.start', 'step-budget'),
    ...(acting ? [guard(phase, 'call.start', 'loop-budget')] : []),
  ];
}

function whyNot({ maxSteps, maxLoopsPerPhase }: Rules, phase: Phase, goal: string): string {
  if (goal.endsWith('step-budget')) {
    return tooLong(maxSteps, 'step') ?? `no run is in ${phase} with its step budget used up`;
  }
  if (goal.endsWith('loop-budget')) {
    return (
      tooLong(maxLoopsPerPhase, 'loop') ?? `no run is in ${phase} with its loop budget used up and steps left`
    );
  }
  return `no run is in ${phase} with room in its budgets`;
}

function tooLong(budget: number, name: string): string | undefined {
  if (budget === Number.POSITIVE_INFINITY) return `the ${name} budget has no limit`;
  return budget > LONGEST
    ? `it takes ${budget} calls; generate the paths with a smaller ${name} budget`
    : undefined;
}

function guard(phase: Phase, event: string, code: RefusalCode | null): string {
  return `${event} in ${phase}: ${code === null ? 'allowed' : `refused, ${code}`}`;
}

function reasonOf(rules: Rules, { source, event }: Edge): RefusalCode | null {
  const { phase, stepCount, loopCount, inFlight } = source.state;
  const at: Position = { phase, stepCount, loopCount, pending: inFlight, childPending: 0, pendingLoops: 0 };
  if (event.startsWith('propose.')) {
    return refuseProposal(rules.table, rules, at, event.slice('propose.'.length)) ?? null;
  }
  if (event === 'call.start') return refuseAction(rules.table, rules, at) ?? null;
  if (event === 'call.join' && inFlight > 0) return refuseAction(rules.table, rules, at, true) ?? null;
  return null;
}
