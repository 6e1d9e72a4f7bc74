/** What agents ask the object that holds their runs, and what it answers: plain JSON. */
import { describe } from '../describe.ts';
import { type BlockedDetails, PhasegateError } from '../errors.ts';
import type { Decision, RunState } from '../supervisor.ts';

/** Where a run is kept: in the object of the outermost run around it, which its child runs share. JSON, to be handed on. */
export interface RunAddress {
  /** The id of the outermost run: the key of the object. */
  readonly root: string;
  readonly run: string;
}

/** Where a call is kept, for code on another machine that works for it: nested calls and child runs name it as `parent`. */
export interface CallAddress extends RunAddress {
  /** What the call is known by, as no other: ids that callers give may repeat. */
  readonly call: string;
}

/** A call of a run in the same object. */
export interface CallName {
  readonly run: string;
  readonly call: string;
}

/** What each handler of the object is asked. `op` and `call` tell a repeated request from another one. */
export interface Requests {
  readonly begin: {
    readonly op: string;
    readonly run: string;
    readonly parent: CallName | null;
    /** `null`: no deadline. */
    readonly timeoutMs: number | null;
    readonly budget?: 'shared' | 'own' | undefined;
    /** `null`: no limit. */
    readonly maxDepth?: number | null | undefined;
  };
  readonly beforeCall: {
    readonly run: string;
    readonly call: string;
    readonly tool: string;
    readonly args?: unknown;
    /** `null`: the run numbers its calls. */
    readonly callId: string | null;
    /** The call that this one is made in. */
    readonly parent: string | null;
  };
  readonly afterCall: CallName;
  readonly failCall: CallName & { readonly error: string };
  readonly renewCall: CallName;
  /** Asked while a call is in line: is answered when its turn has come. */
  readonly awaitTurn: CallName;
  /** What the object asks itself for that; `awakeable`: by what to wake whoever waits. */
  readonly lineUp: CallName & { readonly awakeable: string };
  readonly propose: { readonly op: string; readonly run: string; readonly target: string };
  readonly finish: { readonly run: string };
  readonly abort: { readonly run: string; readonly reason: string; readonly timedOut: boolean };
  readonly state: { readonly run: string };
}

/** What agents ask. */
export type Question = Exclude<keyof Requests, 'lineUp'>;

/** The requests that change something. */
export type Change = Exclude<keyof Requests, 'state' | 'awaitTurn'>;

/** Where a run is, as every answer tells. */
export interface RunView {
  readonly state: RunState;
  /** Whether it was its deadline that ended it. */
  readonly timedOut: boolean;
}

/** Why a call was refused, or a run not begun. */
export type RefusedDetails = BlockedDetails & { readonly message: string };

/** What the object answers. */
export type Answer =
  | {
      readonly is: 'run';
      readonly view: RunView;
      readonly parent: CallName | null;
      /** How long the object waits for a sign of life of a call in flight; `null`: for as long as it takes. */
      readonly leaseMs: number | null;
      /** Whether a tool call is legal now. */
      readonly action: Decision;
    }
  | { readonly is: 'admitted'; readonly call: string; readonly callId: string; readonly view: RunView }
  | { readonly is: 'refused'; readonly refusal: RefusedDetails; readonly view: RunView | null }
  | { readonly is: 'waiting'; readonly call: string; readonly waitMs: number | null; readonly view: RunView }
  | { readonly is: 'decided'; readonly decision: Decision; readonly view: RunView }
  | { readonly is: 'done'; readonly view: RunView }
  | { readonly is: 'fault'; readonly code: string; readonly message: string };

export type AnswerThat<Kind extends Answer['is']> = Extract<Answer, { readonly is: Kind }>;

/**
 * Takes what came over the network for one of the answers that were expected, on positive evidence only.
 *
 * @throws {PhasegateError} `answer-unreadable`; or the fault that the object answered.
 */
export function readAnswer<Kind extends Answer['is']>(
  value: unknown,
  expected: readonly Kind[],
): AnswerThat<Kind> {
  const answer = value as Partial<Record<string, unknown>> | null;
  if (typeof answer === 'object' && answer !== null) {
    const { is, code, message } = answer;
    if (is === 'fault' && typeof code === 'string' && typeof message === 'string') {
      throw new PhasegateError(code, message);
    }
    if (expected.includes(is as Kind) && READABLE[is as Kind](answer)) return value as AnswerThat<Kind>;
  }
  throw new PhasegateError(
    'answer-unreadable',
    `Expected an answer that is ${expected.join(' or ')}, got ${describe(value)}. ` +
      'Do agents and service run the same version of phasegate?',
  );
}

/** JSON has no `Infinity`. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

type Fields = Partial<Record<string, unknown>>;

const READABLE: Readonly<Record<Answer['is'], (answer: Fields) => boolean>> = {
  run: ({ view, leaseMs, action }) =>
    isView(view) && (leaseMs === null || typeof leaseMs === 'number') && isDecision(action),
  admitted: ({ call, callId, view }) => isText(call) && isText(callId) && isView(view),
  refused: ({ refusal, view }) => isRefusal(refusal) && (view === null || isView(view)),
  waiting: ({ call, waitMs, view }) =>
    isText(call) && (waitMs === null || typeof waitMs === 'number') && isView(view),
  decided: ({ decision, view }) => isDecision(decision) && isView(view),
  done: ({ view }) => isView(view),
  fault: () => false,
};

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isView(value: unknown): boolean {
  if (!isRecord(value) || typeof value['timedOut'] !== 'boolean' || !isRecord(value['state'])) return false;
  const { phase, stepCount, loopCount, inFlight, finished, reason } = value['state'];
  return (
    isText(phase) &&
    typeof stepCount === 'number' &&
    isRecord(loopCount) &&
    typeof inFlight === 'number' &&
    typeof finished === 'boolean' &&
    (reason === null || isText(reason))
  );
}

function isRefusal(value: unknown): boolean {
  return isRecord(value) && isText(value['message']) && isText(value['code']) && isText(value['stage']);
}

function isDecision(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (value['allowed'] === true) return Array.isArray(value['path']) && isRecord(value['state']);
  return value['allowed'] === false && isText(value['code']) && isText(value['message']);
}
