import { type Gate, throwRefusal, withMethods } from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';
import type { Tool } from './tools.ts';

type Method = (...args: unknown[]) => unknown;

const EDITS = ['createFile', 'updateFile', 'deleteFile'] as const;

/** A shell whose commands are calls. What it throws, the SDK hands to the model. */
export function superviseShell(gate: Gate, { name, shell }: Tool & { readonly shell?: object }): object {
  return methodsAsCalls(gate, name, shell, ['run']);
}

/** An editor whose edits are calls. What it throws, the SDK hands to the model. */
export function superviseEditor(gate: Gate, { name, editor }: Tool & { readonly editor?: object }): object {
  return methodsAsCalls(gate, name, editor, EDITS);
}

function methodsAsCalls(
  gate: Gate,
  tool: string,
  object: object | undefined,
  names: readonly string[],
): object {
  if (object === undefined) throw invalidArgument(tool, 'a tool with something behind it', object);
  const asCall = (name: string): Method => {
    return (...args) =>
      gate.call<unknown>(
        { tool, args: args[0] },
        () => (object as Record<string, Method>)[name]?.apply(object, args),
        throwRefusal,
      );
  };
  return withMethods(object, Object.fromEntries(names.map((name) => [name, asCall(name)])));
}
