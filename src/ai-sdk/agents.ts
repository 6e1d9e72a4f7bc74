import type { Gate } from '../adapters/index.ts';
import { PhasegateError } from '../errors.ts';
import type { RunOptions } from '../run.ts';
import type { Agent, AgentFunction } from './index.ts';
import type { Tool, ToolWrapper } from './tools.ts';

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
  options: RunOptions = {},
): A {
  const asRun = (invoke: (parameters: never) => unknown): Invoke => {
    return (parameters) =>
      gate.invoke((run) => invoke({ ...parameters, abortSignal: run.signal } as never), {
        ...options,
        signal: parameters?.abortSignal,
      });
  };
  if (typeof agent !== 'function') {
    rejectUnwrapped(wrapper.unwrapped(agent.tools));
    return withMethods(agent, {
      generate: asRun((parameters) => agent.generate(parameters)),
      stream: asRun((parameters) => agent.stream(parameters)),
    });
  }
  const invoke = asRun(agent);
  const supervised: Invoke = (parameters) =>
    invoke(parameters?.tools ? { ...parameters, tools: wrapper.wrapAll(parameters.tools) } : parameters);
  return supervised as unknown as A;
}

function rejectUnwrapped(names: readonly string[]): void {
  if (names.length === 0) return;
  throw new PhasegateError(
    'unsupervised-tool',
    `The agent has tools that are not under enforcement: ${names.join(', ')}. Make it with tools: gate.tools({ … })`,
  );
}

function withMethods<A extends object>(agent: A, methods: Readonly<Record<string, Invoke>>): A {
  return new Proxy(agent, {
    get(target, key) {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key];
      // With the agent itself as `this`, which may have private members.
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
