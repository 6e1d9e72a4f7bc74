/**
 * The machine as a table: phase × event × condition → what happens. Runs move on the table, since asking XState takes
 * tens of microseconds. Nothing of it is written by hand: each entry is found by asking the machine's own guards and
 * applying its own actions, and what cannot be put into a table so is refused by name.
 */
import type { AnyStateNode, TransitionDefinition } from 'xstate';
import type { Budgets, Position } from './decide.ts';
import { describe } from './describe.ts';
import { PhasegateError } from './errors.ts';
import { type PhaseContext, type PhaseEvent, type PhaseMachine, phaseSetup } from './machine.ts';
import { isTerminal, type Phase } from './phases.ts';

/** What an event does in a phase. */
export interface Move {
  readonly to: Phase;
  /** What is added to the calls that ended well. */
  readonly steps: number;
  /** What is added to the calls in flight. */
  readonly inFlight: number;
  /** What becomes of the loop counts: all forgotten, or one more in this phase. */
  readonly loops: 'kept' | 'counted' | 'forgotten';
}

/** The moves of one event in one phase, by {@link condition}; `undefined` where the event is refused. */
export type Moves = readonly (Move | undefined)[];

/** How many conditions there are. */
export const CONDITIONS = 12;

const NO_MOVES: Moves = Object.freeze(new Array(CONDITIONS).fill(undefined));

/** The index of a condition: whether the budgets have room, and whether no, one or more calls are in flight. */
export function condition(stepRoom: boolean, loopRoom: boolean, inFlight: number): number {
  return (stepRoom ? 0 : 1) + (loopRoom ? 0 : 2) + (inFlight > 1 ? 8 : inFlight * 4);
}

/**
 * Compiles one phase of a machine.
 *
 * @returns The moves of each event that the phase takes.
 * @throws {PhasegateError} `uncompilable-machine`, naming what in it is no part of a phase machine.
 */
export function compilePhase(machine: PhaseMachine, phase: Phase): ReadonlyMap<PhaseEvent['type'], Moves> {
  const node = machine.root.states[phase];
  if (node === undefined) throw uncompilable(`it has no state ${phase}`);
  checkNode(node, phase);
  const events = [...node.transitions].map(([event, transitions]) => {
    if (!isKnown(event, machine)) throw uncompilable(`${phase} has the event ${describe(event)}`);
    return { event, candidates: transitions.map((one) => readTransition(machine, phase, one)) };
  });
  const asked = events.flatMap(({ candidates }) => candidates.flatMap(({ loopsOf }) => loopsOf ?? []));
  const contexts = contextsOf(phase, new Set([phase, ...SOME_PHASES, ...asked]));
  return new Map(
    events.map(({ event, candidates }) => [
      event as PhaseEvent['type'],
      movesOf(phase, event, candidates, contexts),
    ]),
  );
}

/**
 * Checks what a machine is as a whole.
 *
 * @throws {PhasegateError} `uncompilable-machine`.
 */
export function checkMachine({ root }: PhaseMachine): void {
  if (root.type !== 'compound') throw uncompilable(`it is ${root.type}, and its phases exclude each other`);
  const initial = root.initial.target[0]?.key;
  if (initial !== 'IDLE') throw uncompilable(`it begins in ${describe(initial)} instead of IDLE`);
  checkParts(root, 'the machine itself');
  if (root.transitions.size > 0) {
    throw uncompilable(`the machine itself has the event ${describe([...root.transitions.keys()][0])}`);
  }
}

/** The moves of an event that a phase may not take. */
export function movesFor(moves: ReadonlyMap<string, Moves>, event: PhaseEvent['type']): Moves {
  return moves.get(event) ?? NO_MOVES;
}

// —— What may be in a machine ——

const NO_STEP_OF_A_PHASE_MACHINE = 'a phase machine moves only by the events of its run';

function checkParts(node: AnyStateNode, where: string): void {
  if (node.always !== undefined && node.always.length > 0) {
    throw uncompilable(`${where} has an \`always\` transition: ${NO_STEP_OF_A_PHASE_MACHINE}`);
  }
  if (node.after.length > 0) {
    throw uncompilable(`${where} has a delay (\`after\`): ${NO_STEP_OF_A_PHASE_MACHINE}`);
  }
  if (node.invoke.length > 0) throw uncompilable(`${where} invokes an actor`);
  if (node.entry.length > 0) throw uncompilable(`${where} has an entry action ${actionName(node.entry[0])}`);
  if (node.exit.length > 0) throw uncompilable(`${where} has an exit action ${actionName(node.exit[0])}`);
}

function checkNode(node: AnyStateNode, phase: Phase): void {
  checkParts(node, phase);
  const expected = isTerminal(phase) ? 'final' : 'atomic';
  if (node.type !== expected) throw uncompilable(`${phase} is ${node.type} instead of ${expected}`);
}

const CALL_AND_RUN: ReadonlySet<string> = new Set<PhaseEvent['type']>([
  'call.start',
  'call.join',
  'call.succeed',
  'call.fail',
  'run.finish',
  'run.abort',
  'run.exhaust',
  'run.reject',
]);

function isKnown(event: string, machine: PhaseMachine): boolean {
  return (
    CALL_AND_RUN.has(event) ||
    (event.startsWith('propose.') && Object.hasOwn(machine.root.states, event.slice('propose.'.length)))
  );
}

// A transition as it is taken: whether it holds, where it leads, and what it does to the context.
interface Candidate {
  readonly to: Phase;
  readonly guard: (context: PhaseContext) => boolean;
  /** The phase whose loops the guard asks for. */
  readonly loopsOf: Phase | undefined;
  readonly apply: (context: PhaseContext) => PhaseContext;
  /** Whether it does nothing at all: then it forbids what comes after it. */
  readonly forbids: boolean;
}

function readTransition(
  machine: PhaseMachine,
  phase: Phase,
  // biome-ignore lint/suspicious/noExplicitAny: what of a transition is looked at has no types of its own.
  { target, guard, actions, eventType }: TransitionDefinition<any, any>,
): Candidate {
  const where = `${eventType} in ${phase}`;
  if (target !== undefined && target.length !== 1) {
    throw uncompilable(`${where} has ${target.length} targets`);
  }
  const to = target?.[0]?.key ?? phase;
  return {
    to,
    ...readGuard(machine, guard, eventType, where),
    apply: readActions(machine, actions, eventType, where),
    forbids: target === undefined && actions.length === 0,
  };
}

function readGuard(
  machine: PhaseMachine,
  guard: unknown,
  event: string,
  where: string,
): Pick<Candidate, 'guard' | 'loopsOf'> {
  if (guard === undefined) return { guard: () => true, loopsOf: undefined };
  const { type, params } = reference(guard);
  const implementation = Object.hasOwn(KNOWN_GUARDS, type) ? machine.implementations.guards[type] : undefined;
  if (typeof implementation !== 'function') {
    throw uncompilable(`${where} has the guard ${describe(type)}, which is none of a phase machine's`);
  }
  const holds = implementation as (args: object, params: unknown) => unknown;
  return {
    guard: (context) => {
      const answer = holds({ context, event: { type: event } }, params);
      if (typeof answer === 'boolean') return answer;
      throw uncompilable(`the guard ${type} answered ${describe(answer)} instead of a boolean (${where})`);
    },
    loopsOf: (params as { readonly phase?: Phase } | undefined)?.phase,
  };
}

function readActions(
  machine: PhaseMachine,
  actions: readonly unknown[],
  event: string,
  where: string,
): Candidate['apply'] {
  const steps = actions.map((action) => {
    const { type, params } = reference(action);
    const known = Object.hasOwn(KNOWN_ACTIONS, type) ? machine.implementations.actions[type] : undefined;
    const assignment = (known as Partial<Assign> | undefined)?.assignment;
    if (typeof assignment !== 'object') {
      throw uncompilable(`${where} has the action ${actionName(action)}, which is none of a phase machine's`);
    }
    return { assignment, params };
  });
  return (before) => {
    let context: PhaseContext = before;
    for (const { assignment, params } of steps) {
      const after: Record<string, unknown> = { ...context };
      for (const [key, value] of Object.entries(assignment)) {
        after[key] = typeof value === 'function' ? value({ context, event: { type: event } }, params) : value;
      }
      context = after as unknown as PhaseContext;
    }
    return context;
  };
}

/** What `assign` makes, as far as it is read here. */
interface Assign {
  readonly assignment: Readonly<Record<string, unknown>>;
}

// The names that `phaseSetup` gives; a machine may have replaced what stands behind them.
const { guards: KNOWN_GUARDS, actions: KNOWN_ACTIONS } = phaseSetup.createMachine({
  context: {} as PhaseContext,
}).implementations as { guards: object; actions: object };

function reference(value: unknown): { readonly type: string; readonly params: unknown } {
  if (typeof value === 'string') return { type: value, params: undefined };
  if (typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string') {
    const params = 'params' in value ? value.params : undefined;
    if (typeof params !== 'function') return { type: value.type, params };
  }
  return { type: describe(value), params: undefined };
}

function actionName(action: unknown): string {
  return describe(reference(action).type);
}

// —— From candidates to moves ——

function movesOf(
  phase: Phase,
  event: string,
  candidates: readonly Candidate[],
  contexts: readonly (readonly PhaseContext[])[],
): Moves {
  return Object.freeze(
    contexts.map((samples) => {
      const [move, ...others] = samples.map((context) => moveIn(phase, event, candidates, context));
      if (others.every((other) => isSame(move, other))) return move;
      throw uncompilable(
        `what ${event} does in ${phase} depends on more than the room in the budgets and the calls in flight`,
      );
    }),
  );
}

// What a condition can look like. Its samples differ in all that must make no difference, so that a guard that asks for
// anything else is found out; they lie at the edge of the budgets, where one that is off by one is.
interface Situation extends Budgets {
  readonly stepCount: number;
  readonly inFlight: number;
  readonly loops: number;
  readonly loopsElsewhere: number;
}

const SOME_PHASES: readonly Phase[] = ['IDLE', 'ACTING', 'OBSERVING'];

// Pairs of a budget and what is taken of it.
const ROOM = [
  [1, 0],
  [9, 8],
  [Number.POSITIVE_INFINITY, 7],
] as const;
const NO_ROOM = [
  [0, 0],
  [9, 9],
  [3, 4],
] as const;

/** One position and budgets of a condition. */
export function situation(
  index: number,
  phase: Phase,
): { readonly budgets: Budgets; readonly position: Position } {
  const { stepCount, inFlight, loops, ...budgets } = (
    SITUATIONS[index] as readonly Situation[]
  )[1] as Situation;
  const position = {
    phase,
    stepCount,
    pending: inFlight,
    childPending: 0,
    loopCount: loops,
    pendingLoops: 0,
  };
  return { budgets, position };
}

const SITUATIONS: readonly (readonly Situation[])[] = Array.from({ length: CONDITIONS }, (_, index) =>
  [0, 1, 2].map((sample): Situation => {
    const inFlight = index < 8 ? index >> 2 : ([2, 3, 7][sample] as number);
    const [maxSteps, taken] = (index & 1 ? NO_ROOM : ROOM)[sample] as readonly [number, number];
    const [maxLoopsPerPhase, loops] = (index & 2 ? NO_ROOM : ROOM)[sample] as readonly [number, number];
    // A run may have less room than none: of a budget of 2, with 3 calls in flight.
    const stepCount = Math.max(0, taken - inFlight);
    return {
      maxSteps: maxSteps === Number.POSITIVE_INFINITY ? maxSteps : maxSteps + (stepCount + inFlight - taken),
      maxLoopsPerPhase,
      stepCount,
      inFlight,
      loops,
      loopsElsewhere: [1, 4, 2][sample] as number,
    };
  }),
);

function contextsOf(phase: Phase, phases: ReadonlySet<Phase>): PhaseContext[][] {
  return SITUATIONS.map((samples) =>
    samples.map(({ loops, loopsElsewhere, ...budgets }) => {
      const counts = [...phases].map((name) => [name, name === phase ? loops : loopsElsewhere]);
      return { ...budgets, loopCount: Object.fromEntries(counts), reason: null };
    }),
  );
}

function moveIn(
  phase: Phase,
  event: string,
  candidates: readonly Candidate[],
  before: PhaseContext,
): Move | undefined {
  const taken = candidates.find(({ guard }) => guard(before));
  if (taken === undefined || taken.forbids) return undefined;
  const after = taken.apply(before);
  const loops = changeOfLoops(phase, before.loopCount, after.loopCount);
  const { maxSteps, maxLoopsPerPhase } = before;
  if (loops === undefined || after.maxSteps !== maxSteps || after.maxLoopsPerPhase !== maxLoopsPerPhase) {
    throw uncompilable(`the actions of ${event} in ${phase} do what no move of a run does`);
  }
  const steps = after.stepCount - before.stepCount;
  return { to: taken.to, steps, inFlight: after.inFlight - before.inFlight, loops };
}

function changeOfLoops(
  phase: Phase,
  before: PhaseContext['loopCount'],
  after: PhaseContext['loopCount'],
): Move['loops'] | undefined {
  const names = Object.keys(before);
  if (names.every((name) => after[name] === before[name])) return 'kept';
  if (names.every((name) => after[name] === 0)) return 'forgotten';
  const looped = names.every((name) => after[name] === (before[name] ?? 0) + (name === phase ? 1 : 0));
  return looped ? 'counted' : undefined;
}

function isSame(one: Move | undefined, other: Move | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.to === other.to &&
    one.steps === other.steps &&
    one.inFlight === other.inFlight &&
    one.loops === other.loops
  );
}

function uncompilable(why: string): PhasegateError {
  return new PhasegateError(
    'uncompilable-machine',
    `This machine cannot be compiled to a table for runs: ${why}. ` +
      'Runs take the machine of a supervisor that createSupervisor made',
  );
}
