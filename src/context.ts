/**
 * Which calls and runs the present code runs inside of. Known where the platform has `AsyncLocalStorage` (Node, Bun,
 * Deno, workers with Node compatibility); elsewhere calls are tied to their run by `ctx` and `run` alone.
 */
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { SupervisedCall } from './call.ts';
import type { Run } from './run.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** A call's body, or a run, that code can be inside of. */
export interface Frame {
  readonly run: SupervisedRun;
  /** The call in whose body its run was begun. */
  readonly parentCall: SupervisedCall | null;
  /** Whether its code may still run: the call is in flight, the run has not ended. */
  readonly live: boolean;
  /** What it is itself inside of. */
  outer: Frame | undefined;
}

// Asked of the platform at run time, so that one build serves them all and no bundler sees a Node module.
const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks') as
  | typeof import('node:async_hooks')
  | undefined;

const storage = createStorage<Frame>();

/** What follows code through its awaits; absent where the platform has none. */
export function createStorage<T>(): AsyncLocalStorage<T> | undefined {
  return hooks && new hooks.AsyncLocalStorage<T>();
}

/** Runs a function inside a call's body, or inside a run. */
export function runInside<A, T>(frame: Frame, fn: (argument: A) => T, argument: A): T {
  if (storage === undefined) return fn(argument);
  // Past what has ended, or work that goes on from call to call would hold on to all of them.
  let outer = storage.getStore();
  while (outer !== undefined && !outer.live && outer.outer !== undefined) outer = outer.outer;
  frame.outer = outer;
  return storage.run(frame, fn, argument);
}

/** The innermost frame around the present code that is one of these; runs are also inside of the call that began them. */
export function innermostFrame(isOne: (frame: Frame) => boolean): Frame | undefined {
  const first = storage?.getStore();
  if (first === undefined || isOne(first)) return first;
  const around = new Set<Frame>([first]);
  for (const frame of around) {
    if (isOne(frame)) return frame;
    if (frame.outer !== undefined) around.add(frame.outer);
    if (frame.parentCall !== null) around.add(frame.parentCall);
  }
  return undefined;
}

/** The innermost call around the present code, of whatever run or of some of them. */
export function innermostCall(isMeant: (frame: Frame) => boolean = () => true): SupervisedCall | null {
  return callOf(innermostFrame((frame) => frame.run !== frame && isMeant(frame)));
}

/** The innermost call of a run around the present code. */
export function innermostCallOf(run: Run): SupervisedCall | null {
  // Most calls are made from inside of none of their own run: they are not to pay for the closure that looks for one.
  return storage?.getStore() === undefined ? null : lookForCallOf(run);
}

function lookForCallOf(run: Run): SupervisedCall | null {
  return callOf(innermostFrame((frame) => frame.run === run && frame.run !== frame));
}

// A run is its own `run`; whatever else is a frame is a call.
function callOf(frame: Frame | undefined): SupervisedCall | null {
  return frame === undefined || frame.run === frame ? null : (frame as SupervisedCall);
}
