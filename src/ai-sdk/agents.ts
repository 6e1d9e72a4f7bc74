import { type AgentOptions, type Gate, rejectUnsupervised, withMethods } from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';
import type { Tool, ToolWrapper } from './tools.ts';

/** An agent, as `ToolLoopAgent` is one. */
export interface Agent {
  readonly tools: unknown;
  generate(options: never): unknown;
  stream(options: never): unknown;
}

/** A function that takes tools and a signal, as `generateText` and `streamText` do. */
export type AgentFunction = (options: never) => unknown;

/** What of the parameters of an invocation is looked at. */
interface Parameters {
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly abortSignal?: AbortSignal;
}

type Invoke = (parameters: Parameters) => unknown;

/** An agent, or a function that is one, of which each invocation is a run, and which is for the rest as it was. */
export function superviseAgent<A extends Agent | AgentFunction>(
  gate: Gate,
  wrapper: ToolWrapper,
  agent: A,
  options: AgentOptions = {},
): A {
  const asRun = (invoke: (parameters: never) => unknown): Invoke => {
    return (parameters) =>
      gate.invoke((run) => invoke({ ...parameters, abortSignal: run.signal } as never), {
        ...options,
        signal: parameters?.abortSignal,
      });
  };
  if (typeof agent !== 'function') {
    if (typeof agent?.generate !== 'function' || typeof agent.stream !== 'function') {
      throw invalidArgument('agent', 'an agent, or a function such as generateText', agent);
    }
    rejectUnsupervised(wrapper.unwrapped(agent.tools));
    const generate = asRun((parameters) => agent.generate(parameters));
    const stream = asRun((parameters) => agent.stream(parameters));
    return withMethods(agent, {
      generate: async (parameters: Parameters) => await generate(parameters),
      stream: async (parameters: Parameters) => await stream(parameters),
    });
  }
  const invoke = asRun(agent);
  const supervised: Invoke = (parameters) =>
    invoke(parameters?.tools ? { ...parameters, tools: wrapper.wrapAll(parameters.tools) } : parameters);
  return supervised as unknown as A;
}
