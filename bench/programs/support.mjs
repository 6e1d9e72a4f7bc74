// @ts-check
import { createEnforcement, createSupervisor, Refusal } from 'phasegate';

/** What every call is called with. Made once: it is its caller's, and nothing keeps it. */
export const ARGS = Object.freeze({ q: 'xstate' });

/** An enforcement without a step budget that could run out. @param {import('phasegate').EnforcementOptions} options */
export function unlimited(options = {}) {
  return createEnforcement({
    supervisor: createSupervisor({ maxSteps: Number.POSITIVE_INFINITY }),
    ...options,
  });
}

/** @param {import('phasegate').Run} run */
export function admitted(run) {
  const call = run.admit('search', ARGS);
  if (call instanceof Refusal || call instanceof Promise) throw new Error('not admitted');
  return call;
}

/** A call from its admission to its end. @param {import('phasegate').Run} run */
export function called(run) {
  const call = admitted(run);
  run.afterCall(call);
  return call;
}

/** How many bytes live on the heap. */
export function heap() {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
