import { type AgentOptions, type Gate, withMethods } from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';
import type { Agent, SubAgents } from './sub-agents.ts';

/** What runs an agent, as `run` does. */
export type RunFunction = (agent: never, input: never, options?: never) => unknown;

/** What runs agents, as a `Runner` does. */
export interface Runner {
  run(agent: never, input: never, options?: never): unknown;
}

/** What of the options of an invocation is looked at. */
interface InvocationOptions {
  readonly signal?: AbortSignal;
}

type Invoke = (agent: object, input: unknown, options?: InvocationOptions) => unknown;

/** Whatever invokes agents: each invocation is a run. It is for the rest as it was. */
export function superviseInvoker<T extends RunFunction | Runner | Agent>(
  gate: Gate,
  agents: SubAgents,
  invoker: T,
  options: AgentOptions = {},
): T {
  // Async, so that what is thrown here is a rejection, as all is that the SDK throws.
  const asRun = (invoke: Invoke): Invoke => {
    return async (given, input, parameters) => {
      if (!Array.isArray((given as Partial<Agent> | null)?.tools)) {
        throw invalidArgument('agent', 'an Agent', given);
      }
      const agent = agents.original(given);
      agents.check(agent);
      return await gate.invoke((run) => invoke(agent, input, { ...parameters, signal: run.signal }), {
        ...options,
        signal: parameters?.signal,
      });
    };
  };
  if (typeof invoker === 'function') return asRun(invoker as unknown as Invoke) as unknown as T;
  const { run, asTool } = (invoker ?? {}) as { readonly run?: unknown; readonly asTool?: unknown };
  if (typeof run === 'function') return withMethods(invoker, { run: asRun(run.bind(invoker)) });
  if (typeof asTool === 'function') return agents.wrap(invoker as T & Agent, options);
  throw invalidArgument('agent', 'the function run, a Runner or an Agent', invoker);
}
