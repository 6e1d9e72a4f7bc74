import { type Position, type RefusalCode, refusalMessage, refuseAction, refuseProposal } from './decide.ts';
import { describe } from './describe.ts';
import { PhasegateError } from './errors.ts';
import { createPhaseMachine, type PhaseMachine } from './machine.ts';
import { isTerminal, type Phase, type Transition } from './phases.ts';
import { createRules, hashRules, type Rules, type SupervisorOptions } from './rules.ts';
import type { Table } from './table.ts';

/** Where a run is: plain data, never changed once made (SPEC §5). */
export interface RunState {
  readonly phase: Phase;
  /** Calls that ended well. */
  readonly stepCount: number;
  /** Self-loops on a phase since it was entered; a phase that is absent has none. */
  readonly loopCount: Readonly<Record<string, number>>;
  /** Calls that were admitted and have not ended. */
  readonly inFlight: number;
  /** Whether the run has ended. */
  readonly finished: boolean;
  /** Why the run was aborted or terminated; `null` when it was not. */
  readonly reason: string | null;
}

/** The answer to a proposal: the path and the state after it, or why not (SPEC §3). */
export type Decision =
  | { readonly allowed: true; readonly path: readonly Phase[]; readonly state: RunState }
  | { readonly allowed: false; readonly code: RefusalCode; readonly message: string };

/** Decides, from a table and two budgets, what is legal. It keeps no run: every answer depends on the state it is given. */
export interface Supervisor {
  /** What runs that begin now are held to. */
  readonly rules: Rules;
  /** The phase machine of the present table, as XState; built when it is first asked for. */
  readonly machine: PhaseMachine;
  /** The legal transitions, in the order in which their phases are declared. */
  readonly transitions: readonly Transition[];
  /** A short name of table, budgets and policies: equal when they are equal (SPEC §11.1). */
  readonly hash: string;
  /**
   * Makes a transition legal, for runs that begin from now on (SPEC §1.3, §1.4).
   *
   * @returns Whether the table changed: `false` when the transition was legal already.
   * @throws {PhasegateError} `invalid-transition` for an edge out of a terminal phase, or of a phase that does not exist.
   * @example supervisor.addTransition('OBSERVING', 'ACTING'); // true
   */
  addTransition(from: Phase, to: Phase): boolean;
  /**
   * Makes a transition illegal, for runs that begin from now on (SPEC §1.3, §1.4).
   *
   * @returns Whether the table changed: `false` when the transition was not legal before.
   * @throws {PhasegateError} `invalid-transition` as for {@link addTransition}.
   */
  removeTransition(from: Phase, to: Phase): boolean;
  /** The state in which every run begins: IDLE, counters at 0 (SPEC §5.1). */
  initialState(): RunState;
  /**
   * May a run in this state move to the target (SPEC §3)?
   *
   * @throws {PhasegateError} `invalid-state` when the state cannot be one: a counter that is no whole number of 0 or more.
   * @example supervisor.proposeTransition(supervisor.initialState(), 'PLANNING').allowed; // true
   */
  proposeTransition(state: RunState, target: Phase): Decision;
  /**
   * May a tool be called in this state (SPEC §4)? The path leads to ACTING, and the state is the one there; the call
   * itself is not among its calls in flight.
   *
   * @throws {PhasegateError} `invalid-state` as for {@link proposeTransition}.
   * @example supervisor.validateActionPhase(supervisor.initialState()); // path: IDLE, PLANNING, ACTING
   */
  validateActionPhase(state: RunState): Decision;
}

/**
 * Makes a supervisor: the table, the budgets, and the pure decisions on them.
 *
 * @throws {PhasegateError} `invalid-budget`, `invalid-phase`, `invalid-transition` or `invalid-argument` (SPEC §1.3, §2.3).
 * @example
 * const supervisor = createSupervisor({ maxSteps: 20, maxLoopsPerPhase: 2 });
 * supervisor.addTransition('OBSERVING', 'ACTING');
 */
export function createSupervisor(options: SupervisorOptions = {}): Supervisor {
  return new PhaseSupervisor(createRules(options));
}

class PhaseSupervisor implements Supervisor {
  #rules: Rules;
  #machine: PhaseMachine | undefined;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  get rules(): Rules {
    return this.#rules;
  }

  get machine(): PhaseMachine {
    this.#machine ??= createPhaseMachine(this.#rules);
    return this.#machine;
  }

  get transitions(): readonly Transition[] {
    return this.#rules.table.transitions;
  }

  get hash(): string {
    return hashRules(this.#rules);
  }

  addTransition(from: Phase, to: Phase): boolean {
    return this.#replace(this.#rules.table.with(from, to));
  }

  removeTransition(from: Phase, to: Phase): boolean {
    return this.#replace(this.#rules.table.without(from, to));
  }

  initialState(): RunState {
    return { phase: 'IDLE', stepCount: 0, loopCount: {}, inFlight: 0, finished: false, reason: null };
  }

  proposeTransition(state: RunState, target: Phase): Decision {
    const at = positionOf(state);
    const { table } = this.#rules;
    return decision(this.#rules, state, at, refuseProposal(table, this.#rules, at, target), [
      state.phase,
      target,
    ]);
  }

  validateActionPhase(state: RunState): Decision {
    const at = positionOf(state);
    const { table } = this.#rules;
    if (!table.has(state.phase)) return refusal('unknown-phase', this.#rules, at);
    const path = table.pathToActing(state.phase);
    return decision(this.#rules, state, at, refuseAction(table, this.#rules, at), path ?? []);
  }

  #replace(table: Table): boolean {
    if (table === this.#rules.table) return false;
    this.#rules = Object.freeze({ ...this.#rules, table });
    this.#machine = undefined;
    return true;
  }
}

/** The decision that a refusal, or its absence, amounts to; `path` leads from the present phase to the target. */
export function decision(
  rules: Rules,
  state: RunState,
  at: Position,
  code: RefusalCode | undefined,
  path: readonly Phase[],
): Decision {
  const target = path.at(-1) ?? 'ACTING';
  if (code !== undefined) return refusal(code, rules, at, target);
  const loops = target === state.phase ? { [target]: at.loopCount + 1 } : {};
  const after = { ...state, phase: target, loopCount: loops, finished: isTerminal(target) };
  return { allowed: true, path, state: after };
}

function refusal(code: RefusalCode, rules: Rules, at: Position, target?: Phase): Decision {
  return { allowed: false, code, message: refusalMessage(code, rules.table, rules, at, target) };
}

// A state may come from anywhere, so nothing is taken on trust: a negative counter would be a larger budget.
function positionOf(state: RunState): Position {
  if (typeof state !== 'object' || state === null) {
    throw invalidState(`expected a run's state, got ${describe(state)}`);
  }
  const { phase, stepCount, inFlight } = state;
  const loops: unknown = state.loopCount;
  if (typeof phase !== 'string') throw invalidState(`phase must be the name of one, got ${describe(phase)}`);
  if (typeof loops !== 'object' || loops === null) {
    throw invalidState(`loopCount must be an object, got ${describe(loops)}`);
  }
  const loopCount = Object.hasOwn(loops, phase) ? ((loops as RunState['loopCount'])[phase] ?? 0) : 0;
  const counters = [
    ['stepCount', stepCount],
    ['inFlight', inFlight],
    [`loopCount.${phase}`, loopCount],
  ] as const;
  for (const [name, count] of counters) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw invalidState(`${name} must be a whole number of 0 or more, got ${describe(count)}`);
    }
  }
  if (state.finished && !isTerminal(phase)) {
    throw invalidState(`it is finished, and its phase ${phase} is not terminal`);
  }
  return { phase, stepCount, pending: inFlight, childPending: 0, loopCount, pendingLoops: 0 };
}

function invalidState(why: string): PhasegateError {
  return new PhasegateError('invalid-state', `This is not the state of a run: ${why}`);
}
