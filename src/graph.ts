/**
 * What can be reached in a phase machine, and how: the only file that explores with @xstate/graph.
 *
 * An exploration takes in every state that events lead to, counters and all, in the order of their distance from the
 * start. It ends by itself because the budgets bound the counters; a machine that overruns its budgets is not followed
 * past the first state that shows it.
 */
import { type AdjacencyMap, getAdjacencyMap, toDirectedGraph } from '@xstate/graph';
import {
  initialTransition,
  __unsafe_getAllOwnEventDescriptors as ownEvents,
  type SnapshotFrom,
  transition,
} from 'xstate';
import type { PhaseEvent, PhaseMachine } from './machine.ts';
import { isTerminal, type Phase } from './phases.ts';

/** The part of a machine's state that decides what can happen next. */
export interface Place {
  readonly phase: Phase;
  readonly stepCount: number;
  /** Self-loops on the present phase. */
  readonly loopCount: number;
  readonly inFlight: number;
}

/** One event, and the state after it. */
export interface PathStep {
  readonly event: string;
  readonly state: Place;
}

/** A state that can be reached, and what each event does there. */
export interface Node {
  readonly state: Place;
  readonly edges: readonly Edge[];
  /** The edge by which the exploration first came here; none at the start. */
  readonly from: Edge | undefined;
}

/** What an event does in a state: it moves, or it is refused and leads back to the very state. */
export interface Edge {
  readonly source: Node;
  readonly event: string;
  readonly target: Node;
  /** The state after it, with its own counters: where a counter has no limit, `target` stands for many. */
  readonly after: Place;
  readonly refused: boolean;
}

/** How to explore. */
export interface ExploreOptions {
  /** Whether calls may join others on their visit to ACTING (SPEC §5.6). @default 'serialize' */
  readonly parallel?: 'serialize' | 'concurrent' | undefined;
  /** The events after which to begin, from the initial state. @default none */
  readonly after?: readonly string[] | undefined;
  /** The states to go on from; others are found, and not followed. @default all */
  readonly within?: ((state: Place) => boolean) | undefined;
}

type Snapshot = SnapshotFrom<PhaseMachine>;

/**
 * All states that can be reached, nearest first. The events that end a run from outside (`run.finish` and the like) are
 * left out: they are legal everywhere, and would make everything reach its end.
 */
export function explore(machine: PhaseMachine, options: ExploreOptions = {}): Node[] {
  const { parallel = 'serialize', after = [], within = () => true } = options;
  const [initial] = initialTransition(machine);
  const start = after.reduce<Snapshot>(
    (at, type) => transition(machine, at, { type } as PhaseEvent)[0],
    initial,
  );
  const adjacency: AdjacencyMap<Snapshot, PhaseEvent> = getAdjacencyMap<Snapshot, PhaseEvent, unknown>(
    machine as never,
    {
      fromState: start,
      serializeState: key,
      serializeEvent: ({ type }: PhaseEvent) => type,
      events: (snapshot: Snapshot) => eventsOf(snapshot, parallel),
      stopWhen: (snapshot: Snapshot) =>
        snapshot.status !== 'active' || overruns(snapshot) || !within(placeOf(snapshot)),
    },
  );
  const nodes = new Map<string, Mutable<Node> & { edges: Edge[] }>();
  for (const [id, { state }] of Object.entries(adjacency)) {
    nodes.set(id, { state: placeOf(state), edges: [], from: undefined });
  }
  for (const [id, { transitions }] of Object.entries(adjacency)) {
    const source = nodes.get(id);
    for (const { event, state } of Object.values(transitions) as { event: PhaseEvent; state: Snapshot }[]) {
      const target = nodes.get(key(state));
      if (source === undefined || target === undefined) continue;
      const after = placeOf(state);
      const edge: Edge = { source, event: event.type, target, after, refused: isSame(after, source.state) };
      source.edges.push(edge);
    }
  }
  return nearestFirst([...nodes.values()]);
}

/** The shortest way to a state: each event, and the state after it. */
export function pathTo(node: Node): PathStep[] {
  const steps: PathStep[] = [];
  for (let edge = node.from; edge !== undefined; edge = edge.source.from) steps.push(stepOf(edge));
  return steps.reverse();
}

/** An edge as a step of a path. */
export function stepOf({ event, after }: Edge): PathStep {
  return { event, state: after };
}

/**
 * The nodes from which one that `goal` holds for can be reached along edges that `along` holds for; the goals too.
 */
export function nodesThatReach(
  nodes: readonly Node[],
  goal: (node: Node) => boolean,
  along: (edge: Edge) => boolean = () => true,
): Set<Node> {
  const sources = new Map<Node, Node[]>(nodes.map((node) => [node, []]));
  for (const edge of nodes.flatMap((node) => node.edges)) {
    if (!edge.refused && along(edge)) sources.get(edge.target)?.push(edge.source);
  }
  const reached = new Set(nodes.filter(goal));
  for (const node of reached) {
    for (const source of sources.get(node) ?? []) reached.add(source);
  }
  return reached;
}

/** The machine as a directed graph in plain data: its states and its transitions. */
export function directedGraph(machine: PhaseMachine): object {
  return JSON.parse(JSON.stringify(toDirectedGraph(machine))) as object;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function nearestFirst(nodes: (Mutable<Node> & { edges: Edge[] })[]): Node[] {
  const [start] = nodes;
  if (start === undefined) return [];
  const seen = new Set<Node>([start]);
  for (const node of seen) {
    for (const edge of node.edges) {
      if (seen.has(edge.target)) continue;
      (edge.target as Mutable<Node>).from = edge;
      seen.add(edge.target);
    }
  }
  return [...seen];
}

function eventsOf(snapshot: Snapshot, parallel: 'serialize' | 'concurrent'): PhaseEvent[] {
  return (ownEvents(snapshot) as string[])
    .filter((type) => !type.startsWith('run.') && (type !== 'call.join' || parallel === 'concurrent'))
    .map((type) => ({ type }) as PhaseEvent);
}

function placeOf({ value, context }: Snapshot): Place {
  const phase = value as Phase;
  return {
    phase,
    stepCount: context.stepCount,
    loopCount: context.loopCount[phase] ?? 0,
    inFlight: context.inFlight,
  };
}

// Counters of other phases are in the key as well, should a machine forget to reset them. What has no limit decides
// nothing, and is left out: else there would be no end of states.
function key({ value, context, status }: Snapshot): string {
  const { maxSteps, maxLoopsPerPhase, stepCount, inFlight } = context;
  const loops =
    maxLoopsPerPhase === Number.POSITIVE_INFINITY
      ? []
      : Object.entries(context.loopCount).filter(([, count]) => count !== 0);
  const steps = maxSteps === Number.POSITIVE_INFINITY ? 0 : stepCount;
  return JSON.stringify([value, steps, inFlight, loops, status]);
}

function overruns({ context }: Snapshot): boolean {
  const { maxSteps, maxLoopsPerPhase, stepCount, inFlight, loopCount } = context;
  return (
    inFlight < 0 ||
    stepCount + inFlight > maxSteps ||
    Object.values<number>(loopCount).some((count) => count > maxLoopsPerPhase)
  );
}

/** Whether two states are one. */
export function isSame(one: Place, other: Place): boolean {
  return (
    one.phase === other.phase &&
    one.stepCount === other.stepCount &&
    one.loopCount === other.loopCount &&
    one.inFlight === other.inFlight
  );
}

/** Whether a node's run has ended. */
export function isEnd({ state }: Node): boolean {
  return isTerminal(state.phase);
}
