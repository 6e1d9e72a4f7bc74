import type { RefusalCode } from './decide.ts';
import type { Stage } from './errors.ts';
import type { Phase } from './phases.ts';
import type { SavedRun } from './saved-run.ts';

interface EventBase {
  /** When, in milliseconds since 1970. */
  readonly time: number;
  /** The id of the run. */
  readonly run: string;
}

interface CallEvent extends EventBase {
  /** The id of the call, as the caller or the run gave it; ids that callers give may repeat. */
  readonly call: string;
  /** The number of the call in its run: 1 for the first that was asked for. Never twice the same. */
  readonly seq: number;
  readonly tool: string;
}

/** How a call was decided. */
interface Decided {
  /** Calls of the run that ended well before. */
  readonly stepCount: number;
  /** Self-loops on the phase that the run is in. */
  readonly loopCount: number;
  /** Milliseconds in line; `null` when nobody observed the call when it was asked for. */
  readonly waitedMs: number | null;
  /** Milliseconds that the decision took, with the checks and without the time in line; `null` as above. */
  readonly decisionMs: number | null;
}

/** A run began. As a child run it names its parent run and the call in whose body it was begun. */
export interface RunStarted extends EventBase {
  readonly type: 'run.started';
  readonly parent: string | null;
  readonly call: string | null;
  /** Whether its calls count in the budgets of its ancestors too (SPEC §10.2). */
  readonly budget: 'shared' | 'own';
  /** `null` is no limit, in both: JSON has no `Infinity`. */
  readonly maxSteps: number | null;
  readonly maxLoopsPerPhase: number | null;
  /** Whether the `dfa` stage is on; without it neither budgets nor the table hold anything back (SPEC §7). */
  readonly dfa: boolean;
  /** The phases of its table in the order of declaration, and where each leads; `null` for the default table. */
  readonly transitions: Readonly<Record<string, readonly Phase[]>> | null;
  /**
   * Of a run that was saved, and is resumed here (SPEC §11): where it was, and its calls in flight, of which nobody is told that
   * they started. Those that were interrupted end next. `null` for any other run.
   */
  readonly resumed: Pick<SavedRun, 'state' | 'calls'> | null;
}

/** A run moved to another phase, or looped on the one that it is in. */
export interface PhaseEntered extends EventBase {
  readonly type: 'phase.entered';
  readonly from: Phase;
  readonly phase: Phase;
}

/** An explicit proposal was answered. */
export interface PhaseProposed extends EventBase {
  readonly type: 'phase.proposed';
  readonly target: Phase;
  readonly allowed: boolean;
  readonly code: RefusalCode | null;
}

/** A call has to wait its turn (SPEC §5.6). */
export interface CallWaiting extends CallEvent {
  readonly type: 'call.waiting';
}

/** A call was admitted: its body may start. `parent` is the id of the call that made it, from inside its body. */
export interface CallStarted extends CallEvent, Decided {
  readonly type: 'call.started';
  readonly parent: string | null;
  readonly args: unknown;
}

/**
 * A call was refused: its body does not start. An observer that calls depend on may have been told of its start before.
 */
export interface CallRefused extends Omit<CallEvent, 'run' | 'call'>, Decided {
  readonly type: 'call.refused';
  /** `null` when no run was active. */
  readonly run: string | null;
  readonly call: string | null;
  readonly parent: string | null;
  readonly args: unknown;
  readonly code: RefusalCode | (string & {});
  readonly message: string;
  readonly stage: Stage;
  /** Where the run was; `null` without one. */
  readonly phase: Phase | null;
}

/** A call ended. */
export interface CallEnded extends CallEvent {
  readonly type: 'call.ended';
  /** Whether it counts as a step: it ended well, or was interrupted. */
  readonly ok: boolean;
  /** Whether it ended after the end of its run, so that nothing was counted (SPEC §6.2). */
  readonly late: boolean;
  /** Whether its run was saved while it was in flight, and was resumed without it: how it ended is not known (SPEC §11.2). */
  readonly interrupted: boolean;
  readonly error: unknown;
  /** Calls of the run that ended well, this one included. */
  readonly stepCount: number;
}

/** A run ended, in a terminal phase; `reason` when it was aborted or terminated. */
export interface RunEnded extends EventBase {
  readonly type: 'run.ended';
  readonly phase: Phase;
  readonly reason: string | null;
  readonly stepCount: number;
}

/**
 * What an enforcement tells its listeners, in the order in which it happens. As JSON lines these are a recording that
 * `phasegate replay` reads.
 */
export type PhasegateEvent =
  | RunStarted
  | PhaseEntered
  | PhaseProposed
  | CallWaiting
  | CallStarted
  | CallRefused
  | CallEnded
  | RunEnded;
