import { compilePhase, condition, movesFor } from '../../src/compile.ts';
import { withinLoopBudget, withinStepBudget } from '../../src/decide.ts';
import type { PhaseContext, PhaseEvent, PhaseMachine } from '../../src/machine.ts';
import type { Phase } from '../../src/phases.ts';

/** A state as the machine keeps it, without the reason of an end. */
export interface Counted extends Pick<PhaseContext, 'stepCount' | 'loopCount' | 'inFlight'> {
  readonly phase: Phase;
}

/** Where the compiled table leads from a state of the machine with an event; `undefined` where it refuses. */
export function byTable(
  machine: PhaseMachine,
  budgets: Pick<PhaseContext, 'maxSteps' | 'maxLoopsPerPhase'>,
  state: Counted,
  event: PhaseEvent['type'],
): Counted | undefined {
  const { phase, stepCount, loopCount, inFlight } = state;
  const index = condition(
    withinStepBudget(budgets, stepCount, inFlight),
    withinLoopBudget(budgets, loopCount[phase] ?? 0, 0),
    inFlight,
  );
  const move = movesFor(compiled(machine, phase), event)[index];
  if (move === undefined) return undefined;
  const counts = Object.entries(loopCount).map(([name, count]) => {
    if (move.loops === 'forgotten') return [name, 0];
    return [name, count + (move.loops === 'counted' && name === phase ? 1 : 0)];
  });
  return {
    phase: move.to,
    stepCount: stepCount + move.steps,
    loopCount: Object.fromEntries(counts),
    inFlight: inFlight + move.inFlight,
  };
}

const rows = new WeakMap<PhaseMachine, Map<Phase, ReturnType<typeof compilePhase>>>();

function compiled(machine: PhaseMachine, phase: Phase) {
  const ofMachine = rows.get(machine) ?? new Map();
  rows.set(machine, ofMachine);
  const row = ofMachine.get(phase) ?? compilePhase(machine, phase);
  ofMachine.set(phase, row);
  return row as ReturnType<typeof compilePhase>;
}
