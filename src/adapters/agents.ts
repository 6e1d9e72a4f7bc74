import type { Call } from '../call.ts';
import { PhasegateError, type ToolExecutionBlocked } from '../errors.ts';

/** A refusal as frameworks take it that turn what a tool throws into an answer to the model. The refusal is its cause. */
export function throwRefusal(text: string, blocked: ToolExecutionBlocked): never {
  throw new Error(text, { cause: blocked });
}

/** What stops a body: whatever the framework stops it with, and the end of its run. */
export function signalFor(call: Call, given: AbortSignal | undefined): AbortSignal {
  return given === undefined || given === call.signal ? call.signal : AbortSignal.any([given, call.signal]);
}

/**
 * For an agent whose tools can be looked at: none of them may run without being asked for.
 *
 * @param names The names of those that have not been wrapped.
 * @param advice What to do about it.
 * @throws {PhasegateError} `unsupervised-tool`.
 */
export function rejectUnsupervised(
  names: readonly string[],
  advice = 'Make it with tools: gate.tools(…)',
): void {
  if (names.length === 0) return;
  throw new PhasegateError(
    'unsupervised-tool',
    `The agent has tools that are not under enforcement: ${names.join(', ')}. ${advice}`,
  );
}

/** An agent that is as it was but for some methods. */
export function withMethods<A extends object>(agent: A, methods: Readonly<Record<string, unknown>>): A {
  return new Proxy(agent, {
    get(target, key) {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key];
      // With the agent itself as `this`, which may have private members.
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
