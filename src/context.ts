/**
 * Which call or run the present code runs inside of. Known where the platform has `AsyncLocalStorage` (Node, Bun,
 * Deno, workers with Node compatibility); elsewhere calls are tied to their run by `ctx` and `run` alone.
 */
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { SupervisedCall } from './call.ts';
import type { SupervisedRun } from './supervised-run.ts';

type Frame = SupervisedCall | SupervisedRun;

// Asked of the platform at run time, so that one build serves them all and no bundler sees a Node module.
const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks') as
  | typeof import('node:async_hooks')
  | undefined;

const storage: AsyncLocalStorage<Frame> | undefined = hooks && new hooks.AsyncLocalStorage<Frame>();

/** Runs a function inside a call's body, or inside a run. */
export function runInside<T>(frame: Frame, fn: () => T): T {
  return storage === undefined ? fn() : storage.run(frame, fn);
}

/** The call whose body this code is inside of, or the run, or neither. */
export function currentFrame(): Frame | undefined {
  return storage?.getStore();
}
