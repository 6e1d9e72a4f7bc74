import { type Actor, createActor } from 'xstate';
import type { Call } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';
import { ToolExecutionBlocked } from '../errors.ts';
import type { Place } from '../graph.ts';
import type { PhaseEvent, PhaseMachine } from '../machine.ts';
import type { Phase } from '../phases.ts';
import type { Run } from '../run.ts';
import type { Outcome, PathAdapter } from './run.ts';

const PROPOSE = 'propose.';

/** A run of an enforcement with its calls in flight, the latest last. */
interface DrivenRun {
  readonly run: Run;
  readonly calls: Call[];
}

/**
 * Drives an enforcement: every path in a run of its own.
 *
 * @example await testPaths(generatePaths(enforcement.supervisor).paths, enforcementAdapter(enforcement));
 */
export function enforcementAdapter(enforcement: Enforcement): PathAdapter<DrivenRun> {
  return {
    begin: () => ({ run: enforcement.beginRun({ parent: null }), calls: [] }),
    perform: (driven, event) => performOnRun(driven, event),
    state: ({ run: { state } }): Place => ({
      phase: state.phase,
      stepCount: state.stepCount,
      loopCount: state.loopCount[state.phase] ?? 0,
      inFlight: state.inFlight,
    }),
    end: ({ run }) => run.finish(),
  };
}

async function performOnRun({ run, calls }: DrivenRun, event: string): Promise<Outcome> {
  if (event.startsWith(PROPOSE)) {
    const decision = run.propose(event.slice(PROPOSE.length));
    return decision.allowed ? { allowed: true } : { allowed: false, code: decision.code };
  }
  if (event === 'call.start' || event === 'call.join') {
    const parent = event === 'call.start' ? (calls.at(-1) ?? null) : null;
    try {
      calls.push(await run.beforeCall('tool', undefined, { parent }));
      return { allowed: true };
    } catch (error) {
      if (error instanceof ToolExecutionBlocked) return { allowed: false, code: error.code };
      throw error;
    }
  }
  const call = calls.pop();
  if (call === undefined) return { allowed: false };
  if (event === 'call.succeed') run.afterCall(call);
  else run.failCall(call);
  return { allowed: true };
}

/**
 * Drives the bare actor of a phase machine.
 *
 * @example await testPaths(generatePaths(supervisor).paths, actorAdapter(supervisor.machine));
 */
export function actorAdapter(machine: PhaseMachine): PathAdapter<Actor<PhaseMachine>> {
  return {
    begin: () => {
      const actor = createActor(machine);
      // Without an observer of errors the process would die of a guard that throws.
      actor.subscribe({ error: () => {} });
      return actor.start();
    },
    perform: (actor, type): Outcome => {
      // XState warns of what is sent to an actor that has ended.
      if (actor.getSnapshot().status !== 'active') return { allowed: false };
      const before = JSON.stringify(placeOf(actor));
      actor.send({ type } as PhaseEvent);
      // Admit on positive evidence only: an actor that failed keeps its old value.
      return { allowed: actor.getSnapshot().status !== 'error' && JSON.stringify(placeOf(actor)) !== before };
    },
    state: placeOf,
    end: (actor) => {
      actor.stop();
    },
  };
}

function placeOf(actor: Actor<PhaseMachine>): Place {
  const { value, context } = actor.getSnapshot();
  const phase = value as Phase;
  return {
    phase,
    stepCount: context.stepCount,
    loopCount: context.loopCount[phase] ?? 0,
    inFlight: context.inFlight,
  };
}
