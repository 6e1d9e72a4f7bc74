import type { Body, Call, CallOptions } from './call.ts';
import type { Inspect } from './inspection.ts';
import type { LogEntry } from './log.ts';
import type { Phase } from './phases.ts';
import type { Refusal } from './refusal.ts';
import type { PhaseActor } from './run-actor.ts';
import type { SavedCall, SavedRun, SaveOptions } from './saved-run.ts';
import type { Decision, RunState } from './supervisor.ts';

/** How a run is begun. */
export interface RunOptions {
  /** Names the run in refusals, logs and events. Without it the run gets an id of its own. */
  readonly id?: string | undefined;
  /**
   * Milliseconds until the run is aborted; 1 to 2147483647, or `Infinity` (SPEC §6.3).
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /** Aborts the run, with its reason, when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the calls of a child run count in the step budgets of its ancestors too, or in its own only (SPEC §10.2).
   * @default 'shared'
   */
  readonly budget?: 'shared' | 'own' | undefined;
  /**
   * How many levels of child runs there may be below the outermost run; a child run cannot raise it (SPEC §10.3).
   * @default 5
   */
  readonly maxDepth?: number | undefined;
  /**
   * The call in whose body the run is begun: then it is a child run. Found by itself where the platform has
   * `AsyncLocalStorage`; `null` says that there is none (SPEC §10.1).
   */
  readonly parent?: Call | null | undefined;
}

/** One invocation of an agent (SPEC §5). */
export interface Run {
  readonly id: string;
  /** The run inside of which this one was begun; `null` for an outermost run. */
  readonly parent: Run | null;
  /** How many runs this one is inside of. */
  readonly depth: number;
  /** Where the run is now. */
  readonly state: RunState;
  /** The calls that were admitted and have not ended, in the order in which they were admitted. */
  readonly callsInFlight: readonly Call[];
  /** The calls that were in flight when the run was saved and did not come back with it: they may have taken effect (SPEC §11.2). */
  readonly interrupted: readonly SavedCall[];
  /** Aborted, with the reason, when the run is aborted or terminated; not when it finishes. */
  readonly signal: AbortSignal;
  /** The latest decisions, oldest first: no more than the enforcement's `logLimit`. */
  readonly log: readonly LogEntry[];
  /** How many older decisions the log has let go. */
  readonly logDropped: number;
  /**
   * The run as an XState actor of its machine, in step with it from the moment when this is first asked for: to be shown
   * in an inspector, or subscribed to. Without it no actor exists. Only the run sends it events: where anything else has
   * moved it, the two disagree, and each further call is refused (`actor-disagrees`).
   *
   * @example
   * run.actor.subscribe((snapshot) => show(snapshot.value, snapshot.context.stepCount));
   */
  readonly actor: PhaseActor;
  /**
   * Shows the run's {@link actor} to an inspector, as it is now and whatever becomes of it, and with it those of the child
   * runs inside of it, now and from now on.
   *
   * @param inspect What XState's `createActor` takes as `inspect`; what it throws or rejects with is ignored.
   * @returns A function that ends it.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const off = run.inspect(createWebSocketInspector().inspect);
   */
  inspect(inspect: Inspect): () => void;
  /** Moves to another phase, if that is legal now (SPEC §3). */
  propose(target: Phase): Decision;
  /** Is a tool call legal now (SPEC §4)? Changes nothing. */
  validateActionPhase(): Decision;
  /**
   * Asks for a tool call. The reservation is made before the first await (SPEC §5.2, §5.3). End the call with
   * {@link afterCall} or {@link failCall}. A run that ends between the admission and your next line cannot be seen from here:
   * look at `call.signal` before the body starts. `callTool` does.
   *
   * @param args What the tool is called with; monitor checks and listeners see it, nothing keeps it.
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused. A call of a run that ends while it waits is refused.
   * @throws {PhasegateError} (rejects) `invalid-argument`.
   * @example
   * const call = await run.beforeCall('search', { q });
   * try {
   *   const pages = await search(q, call.signal);
   *   run.afterCall(call);
   * } catch (error) {
   *   run.failCall(call, error);
   * }
   */
  beforeCall(tool: string, args?: unknown, options?: CallOptions): Promise<Call>;
  /**
   * The same, and at once where nothing has to be awaited: the admitted call, or the refusal (as a value), or a promise
   * like {@link beforeCall}'s when the call waits its turn or a monitor check is to run.
   *
   * @throws {PhasegateError} `invalid-argument`.
   */
  admit(tool: string, args?: unknown, options?: CallOptions): Call | Refusal | Promise<Call>;
  /**
   * The call ended well: a step (SPEC §5.4). A second end changes nothing.
   *
   * @param result What it came to, for observers that ask for results; nothing keeps it.
   */
  afterCall(call: Call, result?: unknown): void;
  /** The call failed: no step (SPEC §5.4). A second end changes nothing. */
  failCall(call: Call, error?: unknown): void;
  /**
   * Asks for a call, runs its body if it is admitted, and ends it as the body ends.
   *
   * @returns What the body returns; it rejects with what the body throws.
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused: then the body has not started.
   * @example const pages = await run.callTool('search', { q }, (ctx) => search(q, ctx.signal));
   */
  callTool<T>(tool: string, args: unknown, body: Body<T>, options?: CallOptions): Promise<T>;
  /**
   * Runs code inside of the run: tools made with `enforcement.tool` find it from there, also after an await. For code that
   * begins and ends its run by itself; `withRun` does all of it. Where the platform has no `AsyncLocalStorage` it only
   * calls the function.
   *
   * @returns What the function returns; it throws what the function throws.
   * @example const stream = run.inside(() => agent.stream(question));
   */
  inside<T>(fn: () => T): T;
  /** Ends the run in ANSWERING, once (SPEC §6.1). Calls that wait are refused. */
  finish(): void;
  /**
   * Ends the run in ANSWERING and keeps the reason (SPEC §6.2): it is appended to later refusals, and the signal that
   * bodies were handed is aborted with it. Calls that wait are refused.
   */
  abort(reason?: unknown): void;
  /**
   * The run as plain data that JSON can hold, at any moment, for `enforcement.resumeRun` (SPEC §11). Calls that wait or are
   * being checked have not begun: they are not in it.
   *
   * @throws {PhasegateError} `invalid-argument`.
   * @example await store.put(run.id, JSON.stringify(run.save({ key })));
   */
  save(options?: SaveOptions): SavedRun;
}
