import type { Frame } from './context.ts';
import type { Stage } from './errors.ts';
import type { LogEntry, Recorded } from './log.ts';
import type { Phase } from './phases.ts';
import type { Run } from './run.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** What the body of a call does: it is handed its call, and answers with a value or a promise. */
export type Body<T> = (ctx: Call) => T | PromiseLike<T>;

/** How a call is asked for. */
export interface CallOptions {
  /** The id that the model or the framework gave the call; may repeat. Without it the run numbers its calls. */
  readonly callId?: string | undefined;
  /**
   * The call from inside whose body this one is made: then it is nested (SPEC §5.7). Found by itself where the platform
   * has `AsyncLocalStorage`; `null` says that there is none.
   */
  readonly parent?: Call | null | undefined;
}

/**
 * A tool call that was admitted, and the context that its body is handed: what the body needs to stop in time, and to
 * call other tools as nested calls.
 */
export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly run: Run;
  /** The call that made this one, from inside its body; `null` for a top-level call. */
  readonly parent: Call | null;
  /** Aborted when the run is: hand it on to whatever the body waits for. */
  readonly signal: AbortSignal;
  /**
   * Calls another tool from inside this one's body, as a nested call (SPEC §5.7).
   *
   * @throws {ToolExecutionBlocked} when the nested call is refused.
   * @example
   * await run.callTool('research', { topic }, async (ctx) => {
   *   const pages = await ctx.callTool('search', { q: topic }, search);
   *   return summarise(pages, ctx.signal);
   * });
   */
  callTool<T>(tool: string, args: unknown, body: Body<T>, options?: { readonly callId?: string }): Promise<T>;
}

/** How far a call has come. */
export type CallStatus = 'asked' | 'waiting' | 'reserved' | 'in-flight' | 'ended' | 'refused';

/** Whoever waits for an answer to a call that could not be given at once. */
export interface Waiter {
  resolve(call: SupervisedCall): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const NO_PATH: readonly Phase[] = Object.freeze([]);

/** A call through its life, and its own entry in the log: a decision then makes nothing but the call. */
export class SupervisedCall implements Call, Recorded, Frame {
  readonly run: SupervisedRun;
  readonly tool: string;
  readonly parent: SupervisedCall | null;
  readonly #id: string | number;

  status: CallStatus = 'asked';
  /** Whether it is made from inside the body of a call of its run that is in flight (SPEC §5.7). */
  nested = false;
  /** Whether its reservation is one in the loop budget too. */
  selfLoop = false;
  args: unknown;
  outer: Frame | undefined;
  waiter: Waiter | undefined;
  // Neighbours in the one list of its run that it is in: the waiting, or the reserved and in flight.
  previous: SupervisedCall | undefined;
  next: SupervisedCall | undefined;

  // The entry in the log.
  time = 0;
  blocked: { readonly code: string; readonly message: string; readonly stage: Stage } | undefined;
  phaseBefore: Phase;
  phaseAfter: Phase;
  path: readonly Phase[] = NO_PATH;
  stepCount = 0;
  loopCount = 0;
  inFlight = 0;

  constructor(
    run: SupervisedRun,
    tool: string,
    args: unknown,
    id: string | number,
    parent: SupervisedCall | null,
  ) {
    this.run = run;
    this.tool = tool;
    this.args = args;
    this.#id = id;
    this.parent = parent;
    this.phaseBefore = run.phase;
    this.phaseAfter = run.phase;
  }

  get id(): string {
    return typeof this.#id === 'string' ? this.#id : `call-${this.#id}`;
  }

  get live(): boolean {
    return this.status === 'in-flight';
  }

  get parentCall(): SupervisedCall | null {
    return this.run.parentCall;
  }

  get signal(): AbortSignal {
    return this.run.signal;
  }

  callTool<T>(
    tool: string,
    args: unknown,
    body: Body<T>,
    options?: { readonly callId?: string },
  ): Promise<T> {
    return this.run.callTool(tool, args, body, { callId: options?.callId, parent: this });
  }

  toLogEntry(): LogEntry {
    return {
      time: this.time,
      tool: this.tool,
      callId: this.id,
      parent: this.parent?.id ?? null,
      allowed: this.blocked === undefined,
      code: this.blocked?.code ?? null,
      message: this.blocked?.message ?? null,
      stage: this.blocked?.stage ?? null,
      phaseBefore: this.phaseBefore,
      phaseAfter: this.phaseAfter,
      path: this.path,
      stepCount: this.stepCount,
      loopCount: this.loopCount,
      inFlight: this.inFlight,
    };
  }
}

/** A first-in, first-out list of calls that forgets any of them at once; a call is in one list at a time. */
export class CallList {
  first: SupervisedCall | undefined;
  #last: SupervisedCall | undefined;

  push(call: SupervisedCall): void {
    call.previous = this.#last;
    if (this.#last === undefined) this.first = call;
    else this.#last.next = call;
    this.#last = call;
  }

  remove(call: SupervisedCall): void {
    if (call.previous === undefined) this.first = call.next;
    else call.previous.next = call.next;
    if (call.next === undefined) this.#last = call.previous;
    else call.next.previous = call.previous;
    call.previous = undefined;
    call.next = undefined;
  }
}
