import { type Gate, throwRefusal, withMethods } from '../adapters/index.ts';

type Method = (...args: unknown[]) => unknown;

/** The methods that the SDK calls of what is behind a tool here: of a shell, and of an editor. */
const METHODS = { shell: ['run'], editor: ['createFile', 'updateFile', 'deleteFile'] } as const;

/** A shell or an editor of which each command or edit is a call. What it throws, the SDK hands to the model. */
export function superviseLocal(gate: Gate, tool: string, kind: keyof typeof METHODS, local: object): object {
  const asCall = (name: string): Method => {
    return (...args) =>
      gate.call<unknown>(
        { tool, args: args[0] },
        () => (local as Record<string, Method>)[name]?.apply(local, args),
        throwRefusal,
      );
  };
  return withMethods(local, Object.fromEntries(METHODS[kind].map((name) => [name, asCall(name)])));
}
