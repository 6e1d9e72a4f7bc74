/**
 * What the adapters are made of. An adapter puts a framework under enforcement in one line, and is small: it knows what the
 * framework's tools and agents look like, and how the framework tells a model of an error. All else is here.
 *
 * - A *gate* is what `supervise(supervising, options)` of an adapter returns: `tools` wraps tools, `agent` wraps what invokes
 *   an agent, `run` makes any code a run, and each returns what it was given, of the same type. `enforcement` is where
 *   listeners are added.
 * - A *call* is a body that runs when it is admitted: `Gate.call`. Which run it is a call of is known from the code around it
 *   (`AsyncLocalStorage`), or handed over where a framework loses that.
 * - A *refusal* is shown to the model in the framework's own form: the adapter's `show` gets the text, and returns or throws
 *   what the framework takes for a tool error. Refusals in a row are counted for each run, those of one turn of the model as
 *   one, if the adapter can tell turns apart. `onBlocked: 'abort'`, and too many in a row, abort the run with the refusal as
 *   the reason, and then the call rejects with it.
 * - An *invocation* is a run and whoever waits for what the agent returned: `Gate.invoke` begins the run, calls the agent
 *   inside of it, looks at what it returned, and returns the same, watched. A promise: the run ends when it is settled. A
 *   stream or an async iterable: it ends with the last piece, or when the reader breaks off; then it is aborted. A result
 *   with streams in it: the same for whatever is taken from it, and several readers may be at work. For a framework that
 *   tells in callbacks there is `Gate.begin`, and `finish` of what it returns.
 * - What ends a run before its time (a refusal, a deadline, the end of the run around it, `run.abort`) rejects at once
 *   whatever the caller waits for, with that very error, also where the framework swallows errors, wraps them, or waits for
 *   a body that does not stop. The framework is stopped by `run.signal`, which the adapter hands it in place of the
 *   caller's; an abort by the caller ends a stream as the framework does. The run has ended by then, so whatever the
 *   framework still starts is refused.
 * - A stream that nobody reads: frameworks begin to work when a stream is made, and run the tools of the first turn without
 *   any reader. So the run begins there too, and is aborted when nobody has been reading for `unreadMs`.
 * - An agent that is invoked in the body of a call is a child run: the core finds that by itself.
 *
 * An adapter imports no framework unless it has to, and describes by structural types what it looks at.
 */
export { rejectUnsupervised, signalFor, throwRefusal, withMethods } from './agents.ts';
export { type Framework, Gate, refusalText, type ShowRefusal, type ToolRequest } from './gate.ts';
export type { Invocation } from './invocation.ts';
export type { AgentOptions, GateOptions, Supervising } from './options.ts';
export { Relay } from './relay.ts';
export { isAsyncIterable } from './streams.ts';
