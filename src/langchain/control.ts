import type { Call } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';

const INVALID_RESUME = Symbol.for('langgraph.invalid_resume');

/**
 * Whether an error is one by which a graph steers itself, and no fault: an interrupt, a hand-over to the graph around it, or
 * an answer to an interrupt that has to be given again.
 */
export function isControl(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ((error as { is_bubble_up?: unknown }).is_bubble_up === true || INVALID_RESUME in error)
  );
}

/**
 * Ends a call whose body has thrown what a graph steers itself with. A hand-over is how the body ended: well. All else means
 * that the body will be run again from its beginning, as a call that is asked for anew: this one was no step, and no try that
 * failed, so the run leaves ACTING as after a result, and the next call is no loop (SPEC §5.5).
 */
export function endByControl(enforcement: Enforcement, call: Call, error: Error): void {
  const { run } = call;
  if (error.name === 'ParentCommand') {
    run.afterCall(call);
    return;
  }
  // As it is told of the end, because calls that wait are decided right after that.
  const stop = enforcement.on((event) => {
    if (event.type !== 'call.ended' || event.run !== run.id || event.error !== error) return;
    if (run.state.phase === 'ACTING' && run.state.inFlight === 0) run.propose('OBSERVING');
  });
  run.failCall(call, error);
  stop();
}
