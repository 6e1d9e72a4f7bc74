import type { RunState, Supervisor } from '../../src/index.ts';
import type { Outcome, PathAdapter, Place } from '../../src/paths/index.ts';

interface Held {
  state: RunState;
}

/** Drives the pure supervisor: it decides, and what a call does to the state is written out here, after the rules. */
export function supervisorAdapter(supervisor: Supervisor): PathAdapter<Held> {
  return {
    begin: () => ({ state: supervisor.initialState() }),
    perform: (held, event) => perform(supervisor, held, event),
    state: ({ state }): Place => ({
      phase: state.phase,
      stepCount: state.stepCount,
      loopCount: state.loopCount[state.phase] ?? 0,
      inFlight: state.inFlight,
    }),
  };
}

function perform(supervisor: Supervisor, held: Held, event: string): Outcome {
  const { state } = held;
  const { stepCount, inFlight } = state;
  if (event.startsWith('propose.') || event === 'call.start') {
    const decision =
      event === 'call.start'
        ? supervisor.validateActionPhase(state)
        : supervisor.proposeTransition(state, event.slice('propose.'.length));
    if (!decision.allowed) return { allowed: false, code: decision.code };
    held.state = event === 'call.start' ? { ...decision.state, inFlight: inFlight + 1 } : decision.state;
    return { allowed: true };
  }
  const ok = event === 'call.succeed';
  const observes = inFlight === 1 && (ok || supervisor.rules.onToolError === 'observe');
  held.state = {
    ...state,
    stepCount: ok ? stepCount + 1 : stepCount,
    inFlight: inFlight - 1,
    ...(observes && { phase: 'OBSERVING', loopCount: {} }),
  };
  return { allowed: true };
}
