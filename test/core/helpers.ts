import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Phase, type RunState, ToolExecutionBlocked } from '../../src/index.ts';

// Kept from before any test puts fake timers in place.
const nextMacrotask = globalThis.setImmediate;

/** Lets everything go on that waits for nothing but promises. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => nextMacrotask(resolve));
}

/** The same, three times over: also what waits for others that do it. */
export async function flush(): Promise<void> {
  for (let i = 0; i < 3; i++) await macrotask();
}

/** How far a promise has come, once everything that can go on has gone on. */
export type Outcome =
  | { readonly status: 'pending' }
  | { readonly status: 'fulfilled'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly error: unknown };

/** Watches a promise without ever waiting for it, so that one that hangs is seen to hang. */
export function watch(promise: PromiseLike<unknown>): () => Promise<Outcome> {
  let outcome: Outcome = { status: 'pending' };
  promise.then(
    (value) => {
      outcome = { status: 'fulfilled', value };
    },
    (error) => {
      outcome = { status: 'rejected', error };
    },
  );
  return async () => {
    await flush();
    return outcome;
  };
}

export function outcomeOf(promise: PromiseLike<unknown>): Promise<Outcome> {
  return watch(promise)();
}

/** The refusal that a promise was rejected with; anything else, also an answer that is missing, is an error. */
export async function refusalOf(promise: PromiseLike<unknown>): Promise<ToolExecutionBlocked> {
  const outcome = await outcomeOf(promise);
  if (outcome.status === 'rejected' && outcome.error instanceof ToolExecutionBlocked) return outcome.error;
  throw new Error(`expected a refusal, got ${outcome.status}`, { cause: outcome });
}

/** A promise, and the hands that settle it. */
export interface Gate<T> {
  readonly passed: Promise<T>;
  open(value: T): void;
  fail(error: unknown): void;
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** Frees whatever no one holds on to any more; a `WeakRef` to it is then empty, from the next macrotask on. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/** A state as a run could be in it. */
export function stateIn(phase: Phase, rest: Partial<RunState> = {}): RunState {
  return { phase, stepCount: 0, loopCount: {}, inFlight: 0, finished: false, reason: null, ...rest };
}

/** The state without its reason: what a refusal may not change. */
export function counters({ phase, stepCount, loopCount, inFlight, finished }: RunState) {
  return { phase, stepCount, loopCount, inFlight, finished };
}
