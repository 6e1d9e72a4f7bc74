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
  readonly tool: string;
}

/** A run began. As a child run it names its parent run and the call in whose body it was begun. */
export interface RunStarted extends EventBase {
  readonly type: 'run.started';
  readonly parent: string | null;
  readonly call: string | null;
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
export interface CallStarted extends CallEvent {
  readonly type: 'call.started';
  readonly parent: string | null;
  readonly args: unknown;
}

/** A call was refused: its body does not start. */
export interface CallRefused extends Omit<CallEvent, 'run' | 'call'> {
  readonly type: 'call.refused';
  /** `null` when no run was active. */
  readonly run: string | null;
  readonly call: string | null;
  readonly parent: string | null;
  readonly args: unknown;
  readonly code: RefusalCode | (string & {});
  readonly message: string;
  readonly stage: Stage;
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

/** Called with each event, on the agent's own path: be quick. What it throws or rejects with is ignored. */
export type Listener = (event: PhasegateEvent) => unknown;

/** Hands events to listeners, and shields the runs from what those do. */
export class Emitter {
  // Replaced at every change, so that an event goes to those who listened when it happened.
  #subscriptions: readonly Subscription[] = [];

  /** Whether anyone listens: an event need not be made when no one does. */
  get observed(): boolean {
    return this.#subscriptions.length > 0;
  }

  /** @returns A function that ends the subscription. */
  on(listener: Listener): () => void {
    const subscription: Subscription = { listener, ended: false };
    this.#subscriptions = [...this.#subscriptions, subscription];
    return () => {
      subscription.ended = true;
      this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription);
    };
  }

  emit(event: PhasegateEvent): void {
    for (const { listener, ended } of this.#subscriptions) {
      if (ended) continue;
      try {
        const result = listener(event) as PromiseLike<unknown> | null | undefined;
        if (typeof result?.then === 'function') Promise.resolve(result).catch(ignore);
      } catch {
        // A listener harms nothing: neither the call nor the other listeners.
      }
    }
  }
}

interface Subscription {
  readonly listener: Listener;
  ended: boolean;
}

function ignore(): void {}
