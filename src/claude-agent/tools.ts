import { type Gate, signalFor, throwRefusal } from '../adapters/index.ts';
import type { Call, SupervisedCall } from '../call.ts';
import { runInside } from '../context.ts';
import { invalidArgument } from '../errors.ts';
import type { Sessions } from './session.ts';

/** What of a tool is looked at, as `tool` makes them. */
export interface Tool {
  readonly name: string;
  readonly handler: (...args: never) => unknown;
}

/** What the SDK hands to a body besides its arguments. */
interface Extra {
  readonly signal?: AbortSignal;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

type Handler = (this: unknown, args: unknown, extra?: Extra) => unknown;

const wrapped = new WeakSet<object>();

/** Tools whose bodies run inside of their calls. */
export function wrapTools<T extends readonly Tool[]>(gate: Gate, sessions: Sessions, tools: T): T {
  if (!Array.isArray(tools)) throw invalidArgument('tools', 'an array of tools', tools);
  return tools.map((tool: Tool, index) => {
    if (typeof tool?.handler !== 'function') throw invalidArgument(`tools[${index}]`, 'a tool', tool);
    if (wrapped.has(tool)) return tool;
    const supervised = { ...tool, handler: handlerOf(gate, sessions, tool) };
    wrapped.add(supervised);
    return supervised;
  }) as unknown as T;
}

function handlerOf(gate: Gate, sessions: Sessions, tool: Tool): Handler {
  return async (args, extra) => {
    const body = (call: Call) =>
      (tool.handler as Handler).call(tool, args, { ...extra, signal: signalFor(call, extra?.signal) });
    const asked = sessions.of(gate.enforcement.currentRun())?.begin(extra?._meta?.['claudecode/toolUseId']);
    if (asked !== undefined) return await runInside(asked as SupervisedCall, body, asked);
    // It comes from the body of another tool, or from outside of any query: nobody has asked yet.
    return await gate.call({ tool: tool.name, args }, body, throwRefusal);
  };
}
