import { IterableReadableStream } from '@langchain/core/utils/stream';
import { type AgentOptions, type Gate, rejectUnsupervised, withMethods } from '../adapters/index.ts';
import { isReadable, isThenable } from '../adapters/streams.ts';
import { invalidArgument } from '../errors.ts';
import { guardsAll, type Middleware } from './middleware.ts';
import type { ToolWrapper } from './tools.ts';

/** What `createAgent` makes, and a compiled graph, such as `createReactAgent` makes. */
export interface Agent {
  invoke(input: never, config?: never): unknown;
  stream(input: never, config?: never): unknown;
}

/** What of the configuration of an invocation is looked at. */
interface Config {
  readonly signal?: AbortSignal;
}

type Invoke = (this: unknown, input: unknown, config?: Config, ...rest: unknown[]) => unknown;

/** What else of an agent is looked at. */
interface Inside {
  readonly streamEvents?: Invoke;
  readonly streamLog?: Invoke;
  readonly batch?: (...args: unknown[]) => unknown;
  readonly withConfig?: (...args: unknown[]) => Agent;
  /** Of `createAgent`. */
  readonly options?: { readonly tools?: unknown; readonly middleware?: readonly Middleware[] };
  /** Of a graph. */
  readonly nodes?: Readonly<Record<string, { readonly bound?: unknown } | undefined>>;
}

/** An agent of which each invocation is a run, and which is for the rest as it was. */
export function superviseAgent<A extends Agent>(
  gate: Gate,
  wrapper: ToolWrapper,
  agent: A,
  options: AgentOptions = {},
): A {
  if (typeof agent?.invoke !== 'function' || typeof agent.stream !== 'function') {
    throw invalidArgument('agent', 'an agent of createAgent, or a compiled graph', agent);
  }
  const inside = agent as Inside;
  rejectUnsupervised(wrapper.unwrapped(toolsOf(inside)));
  const asRun = (method: Invoke): Invoke => {
    return (input, config, ...rest) =>
      iterable(
        gate.invoke((run) => method.call(agent, input, { ...config, signal: run.signal }, ...rest), {
          ...options,
          signal: config?.signal,
        }),
      );
  };
  const [invoke, stream] = [asRun(agent.invoke as Invoke), asRun(agent.stream as Invoke)];
  const { streamEvents, streamLog, batch, withConfig } = inside;
  const supervised: A = withMethods(agent, {
    invoke: async (...args: Parameters<Invoke>) => await invoke(...args),
    stream: async (...args: Parameters<Invoke>) => await stream(...args),
    ...(streamEvents && { streamEvents: asRun(streamEvents) }),
    ...(streamLog && { streamLog: asRun(streamLog) }),
    // Made of invocations, each of which is a run.
    ...(batch && { batch: (...args: unknown[]) => batch.apply(supervised, args) }),
    ...(withConfig && {
      withConfig: (...args: unknown[]) =>
        superviseAgent(gate, wrapper, withConfig.apply(agent, args), options),
    }),
  });
  return supervised;
}

/** The tools that can be seen, but for those that go through the gate's middleware. */
function toolsOf({ options, nodes }: Inside): unknown[] {
  if (options !== undefined) {
    const middleware = options.middleware ?? [];
    return guardsAll(middleware)
      ? []
      : [options.tools, ...middleware.map(({ tools }) => tools)].flatMap((tools) =>
          Array.isArray(tools) ? tools : [],
        );
  }
  return Object.values(nodes ?? {}).flatMap((node) => {
    const { tools } = (node?.bound ?? {}) as { readonly tools?: unknown };
    return Array.isArray(tools) ? tools : [];
  });
}

/** The framework's own kind of stream, which is an iterator as well. */
function iterable(result: unknown): unknown {
  if (isThenable(result)) return result.then(iterable);
  if (!isReadable(result)) return result;
  const reader = result.getReader();
  return new IterableReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // What was not asked for is not read.
    { highWaterMark: 0 },
  );
}
