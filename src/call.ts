import type { Frame } from './context.ts';
import { invalidArgument } from './errors.ts';
import type { LogEntry, Recorded } from './log.ts';
import type { Step } from './move-table.ts';
import type { Phase } from './phases.ts';
import { Refusal } from './refusal.ts';
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
  /** The number of the call in its run: 1 for the first that was asked for. Never twice the same. */
  readonly seq: number;
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

/** When a call was asked for, and when its turn came, by `performance.now()`; taken down only for observers. */
export interface CallTimes {
  readonly asked: number;
  turn: number | undefined;
}

const NO_PATH: readonly Phase[] = Object.freeze([]);

/** A call through its life, and its own entry in the log: a decision then makes nothing but the call. */
export class SupervisedCall implements Call, Recorded, Frame {
  readonly run: SupervisedRun;
  readonly tool: string;
  readonly parent: SupervisedCall | null;
  readonly seq: number;
  readonly #id: string | undefined;

  status: CallStatus = 'asked';
  /** Whether it is made from inside the body of a call of its run that is in flight (SPEC §5.7). */
  nested = false;
  /** Whether its reservation is one in the loop budget too. */
  selfLoop = false;
  args: unknown;
  outer: Frame | undefined;
  waiter: Waiter | undefined;
  times: CallTimes | undefined;
  // Neighbours in the one ring of its run that it is in: the waiting, or the reserved and in flight.
  previous: SupervisedCall | undefined;
  next: SupervisedCall | undefined;

  // The entry in the log.
  newer: Recorded | undefined;
  outcome: Step | Refusal | undefined;
  // Absent until it is decided, like the outcome: V8 then keeps the clock's own answer instead of copying it.
  time: number | undefined;
  stepCount = 0;
  loopCount = 0;
  inFlight = 0;

  constructor(
    run: SupervisedRun,
    tool: string,
    args: unknown,
    seq: number,
    id: string | undefined,
    parent: SupervisedCall | null,
  ) {
    this.run = run;
    this.tool = tool;
    this.args = args;
    this.seq = seq;
    this.#id = id;
    this.parent = parent;
  }

  get id(): string {
    return this.#id ?? `call-${this.seq}`;
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
    const { outcome } = this;
    const refusal = outcome instanceof Refusal ? outcome : undefined;
    const path = outcome instanceof Refusal ? NO_PATH : (outcome?.path ?? NO_PATH);
    return {
      time: this.time ?? Number.NaN,
      tool: this.tool,
      callId: this.id,
      parent: this.parent?.id ?? null,
      allowed: refusal === undefined,
      code: refusal?.code ?? null,
      message: refusal?.message ?? null,
      stage: refusal?.stage ?? null,
      phaseBefore: refusal?.phase ?? path[0] ?? 'IDLE',
      phaseAfter: refusal?.phaseAfter ?? path.at(-1) ?? 'IDLE',
      path,
      stepCount: this.stepCount,
      loopCount: this.loopCount,
      inFlight: this.inFlight,
    };
  }
}

/**
 * @returns The call, if it is one that a run of this package handed out.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function ownCall(name: string, call: Call | null): SupervisedCall | null {
  if (call === null || call instanceof SupervisedCall) return call;
  throw invalidArgument(name, 'a call that `beforeCall` or `callTool` handed out', call);
}

// A ring holds calls in the order in which they came, and forgets any of them at once. The first of them stands for it, so
// that a run keeps one field for each of its rings.

/** Puts a call at the end of a ring. @returns The first call of the ring. */
export function pushCall(first: SupervisedCall | undefined, call: SupervisedCall): SupervisedCall {
  const last = first?.previous ?? call;
  call.previous = last;
  call.next = first ?? call;
  last.next = call;
  if (first !== undefined) first.previous = call;
  return first ?? call;
}

/** Takes a call out of its ring. @returns The first call of what is left. */
export function removeCall(
  first: SupervisedCall | undefined,
  call: SupervisedCall,
): SupervisedCall | undefined {
  const { previous, next } = call;
  call.previous = undefined;
  call.next = undefined;
  if (previous === undefined || next === undefined || next === call) return undefined;
  previous.next = next;
  next.previous = previous;
  return first === call ? next : first;
}

/** The calls of a ring, as they are now. */
export function callsOf(first: SupervisedCall | undefined): SupervisedCall[] {
  const calls: SupervisedCall[] = [];
  for (let call = first; call !== undefined; call = call.next === first ? undefined : call.next)
    calls.push(call);
  return calls;
}
