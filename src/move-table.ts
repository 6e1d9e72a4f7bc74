import {
  CONDITIONS,
  checkMachine,
  compilePhase,
  type Move,
  type Moves,
  movesFor,
  situation,
} from './compile.ts';
import { refuseAction, refuseProposal } from './decide.ts';
import { PhasegateError } from './errors.ts';
import { createPhaseMachine, type PhaseEvent, type PhaseMachine } from './machine.ts';
import { isTerminal, type Phase } from './phases.ts';
import type { Rules } from './rules.ts';

/** What a run does at once: one move of the machine, or the hops of a path to ACTING. */
export interface Step extends Pick<Move, 'steps' | 'inFlight' | 'loops'> {
  readonly to: PhaseRow;
  /** The phases that are passed, both ends included. */
  readonly path: readonly Phase[];
}

/** The steps for one thing that may happen, by `condition`; `undefined` where it is refused. */
export type Steps = readonly (Step | undefined)[];

/** What can happen to a run in one phase. Compiled from the machine when a run first comes there. */
export class PhaseRow {
  readonly phase: Phase;
  readonly terminal: boolean;
  readonly #table: MoveTable;
  #compiled: CompiledRow | undefined;

  constructor(table: MoveTable, phase: Phase) {
    this.#table = table;
    this.phase = phase;
    this.terminal = isTerminal(phase);
  }

  /** A call is admitted: the hops to ACTING, or the self-loop there. */
  get start(): Steps {
    return (this.#compiled ?? this.#compile()).start;
  }

  /** A call joins the visit to ACTING that others are on (SPEC §5.6). */
  get join(): Steps {
    return (this.#compiled ?? this.#compile()).join;
  }

  /** A call ends well. */
  get succeed(): Steps {
    return (this.#compiled ?? this.#compile()).succeed;
  }

  /** A call fails. */
  get fail(): Steps {
    return (this.#compiled ?? this.#compile()).fail;
  }

  /** The run ends for a budget (SPEC §6.5). */
  get exhaust(): Steps {
    return (this.#compiled ?? this.#compile()).exhaust;
  }

  /** The run ends for a refusal of the monitor (SPEC §6.5). */
  get reject(): Steps {
    return (this.#compiled ?? this.#compile()).reject;
  }

  /** Explicit proposals, by target. */
  get proposals(): ReadonlyMap<Phase, Steps> {
    return (this.#compiled ?? this.#compile()).proposals;
  }

  /** A call where no table is enforced (SPEC §7): along no edge, where there is no path. */
  get unchecked(): Step {
    return (this.#compiled ?? this.#compile()).unchecked;
  }

  #compile(): CompiledRow {
    this.#compiled = this.#table.compileRow(this);
    return this.#compiled;
  }
}

type CompiledRow = Pick<
  PhaseRow,
  'start' | 'join' | 'succeed' | 'fail' | 'exhaust' | 'reject' | 'proposals' | 'unchecked'
>;

/** The machine of some rules as a table, on which runs live. It is the same whatever the budgets are. */
export class MoveTable {
  readonly #rules: Rules;
  /** Runs with an actor make it of this; the budgets are in the actor's context. */
  readonly machine: PhaseMachine;
  readonly #rows: ReadonlyMap<Phase, PhaseRow>;
  readonly #compiled = new Map<Phase, ReadonlyMap<PhaseEvent['type'], Moves>>();

  /** @throws {PhasegateError} `uncompilable-machine`. */
  constructor(rules: Rules, machine: PhaseMachine) {
    checkMachine(machine);
    this.#rules = rules;
    this.machine = machine;
    this.#rows = new Map(rules.table.phases.map((phase) => [phase, new PhaseRow(this, phase)]));
  }

  /** @throws {PhasegateError} `uncompilable-machine` when the machine has no such phase. */
  row(phase: Phase): PhaseRow {
    const row = this.#rows.get(phase);
    if (row === undefined) throw disagreement(`it has no phase ${phase}`);
    return row;
  }

  /**
   * Compiles what can happen in a phase, and holds it against `decide.ts`: where the machine takes what is refused, or
   * refuses what is allowed, nothing may run on it.
   *
   * @throws {PhasegateError} `uncompilable-machine`.
   */
  compileRow(row: PhaseRow): CompiledRow {
    const { phase } = row;
    const { table } = this.#rules;
    const steps = (event: PhaseEvent['type'], path?: readonly Phase[]) =>
      this.#movesOf(phase, event).map((move) => move && this.#step(move, path ?? [phase, move.to]));
    const compiled = {
      start: phase === 'ACTING' ? steps('call.start') : this.#startFrom(phase),
      join: steps('call.join', STAY),
      succeed: steps('call.succeed'),
      fail: steps('call.fail'),
      exhaust: steps('run.exhaust'),
      reject: steps('run.reject'),
      proposals: new Map(
        table.phases.flatMap((target) => {
          const event = `propose.${target}` as const;
          return this.#moves(phase).has(event) ? [[target, steps(event)] as const] : [];
        }),
      ),
      unchecked: this.#step(ADMITTED, [phase, 'ACTING']),
    };
    this.#check(phase, compiled);
    return compiled;
  }

  #movesOf(phase: Phase, event: PhaseEvent['type']): Moves {
    return movesFor(this.#moves(phase), event);
  }

  #moves(phase: Phase): ReadonlyMap<PhaseEvent['type'], Moves> {
    let moves = this.#compiled.get(phase);
    if (moves === undefined) {
      moves = compilePhase(this.machine, phase);
      this.#compiled.set(phase, moves);
    }
    return moves;
  }

  #step({ to, steps, inFlight, loops }: Move, path: readonly Phase[]): Step {
    return Object.freeze({ to: this.row(to), steps, inFlight, loops, path: Object.freeze(path) });
  }

  /** The hops to ACTING as one step, where the machine takes each of them. */
  #startFrom(phase: Phase): Steps {
    const path = this.#rules.table.pathToActing(phase);
    return Array.from({ length: CONDITIONS }, (_, index) => {
      if (path === undefined) return undefined;
      let last: Move | undefined;
      for (let hop = 1; hop < path.length; hop++) {
        const event = hop === path.length - 1 ? 'call.start' : (`propose.${path[hop]}` as const);
        // Past the first hop the loops are forgotten; how many there may be is open, so no way may need room for one.
        last = this.#movesOf(path[hop - 1] as Phase, event)[hop === 1 ? index : index | NO_LOOP_ROOM];
        if (last === undefined || last.to !== path[hop] || last.loops !== 'forgotten') return undefined;
      }
      return last && this.#step(last, path);
    });
  }

  #check(phase: Phase, { start, join, succeed, fail, proposals }: CompiledRow): void {
    const { table } = this.#rules;
    for (let index = 0; index < CONDITIONS; index++) {
      const { budgets, position } = situation(index, phase);
      const calls = position.pending;
      // Calls are in flight in ACTING only.
      if (calls > 0 && phase !== 'ACTING') break;
      agree(phase, 'call.start', start[index], refuseAction(table, budgets, position), index);
      counts(phase, 'call.start', start[index], 0, 1);
      if (calls > 0) {
        agree(phase, 'call.join', join[index], refuseAction(table, budgets, position, true), index);
        counts(phase, 'call.join', join[index], 0, 1);
        agree(phase, 'call.succeed', succeed[index], undefined, index);
        counts(phase, 'call.succeed', succeed[index], 1, -1);
        agree(phase, 'call.fail', fail[index], undefined, index);
        counts(phase, 'call.fail', fail[index], 0, -1);
      }
      for (const target of table.phases) {
        const step = proposals.get(target)?.[index];
        const event = `propose.${target}`;
        agree(phase, event, step, refuseProposal(table, budgets, position, target), index);
        counts(phase, event, step, 0, 0);
      }
    }
    if (isTerminal(phase)) return;
    for (const event of ['run.finish', 'run.abort'] as const) {
      if (this.#movesOf(phase, event).some((move) => move?.to !== 'ANSWERING')) {
        throw disagreement(`${event} does not always lead to ANSWERING in ${phase}`);
      }
    }
  }
}

const STAY: readonly Phase[] = Object.freeze(['ACTING']);
const NO_LOOP_ROOM = 2;
const ADMITTED: Move = { to: 'ACTING', steps: 0, inFlight: 1, loops: 'forgotten' };

function agree(
  phase: Phase,
  event: string,
  step: Step | undefined,
  refused: string | undefined,
  index: number,
): void {
  if ((step === undefined) === (refused !== undefined)) return;
  const machine = step === undefined ? `refuses ${event}` : `goes to ${step.to.phase} with ${event}`;
  const rules = refused === undefined ? 'the rules allow it' : `the rules refuse it (${refused})`;
  const [budgets, calls] = [CONDITION_NAMES[index & 3], index >> 2];
  throw disagreement(`in ${phase} it ${machine}, and ${rules}, with ${budgets} and ${calls} in flight`);
}

const CONDITION_NAMES = [
  'room in both budgets',
  'no room for a step',
  'no room for a loop',
  'no room in either budget',
];

function counts(phase: Phase, event: string, step: Step | undefined, steps: number, inFlight: number): void {
  if (step === undefined || (step.steps === steps && step.inFlight === inFlight)) return;
  throw disagreement(
    `${event} in ${phase} adds ${step.steps} to the steps and ${step.inFlight} to the calls in flight, ` +
      `and should add ${steps} and ${inFlight}`,
  );
}

function disagreement(why: string): PhasegateError {
  return new PhasegateError(
    'uncompilable-machine',
    `This machine is not that of its rules: ${why}. Use the machine of the supervisor as it is`,
  );
}

const tables = new WeakMap<Rules['table'], Map<string, MoveTable>>();

/** The table on which runs of these rules live; made once for all rules with the same phases, transitions and policies. */
export function moveTable(rules: Rules): MoveTable {
  let ofTable = tables.get(rules.table);
  if (ofTable === undefined) {
    ofTable = new Map();
    tables.set(rules.table, ofTable);
  }
  const policies = `${rules.onToolError} ${rules.onBudgetExhausted} ${rules.onRejected}`;
  let made = ofTable.get(policies);
  if (made === undefined) {
    made = new MoveTable(rules, createPhaseMachine(rules));
    ofTable.set(policies, made);
  }
  return made;
}
