import { messageOf } from './describe.ts';
import type { PhasegateEvent } from './events.ts';

/** Called with each event, on the agent's own path: be quick. What it throws or rejects with is ignored. */
export type Listener = (event: PhasegateEvent) => unknown;

/** What code is inside of: a run, or the body of one of its calls. */
export interface Scope {
  /** The id of the run. */
  readonly run: string;
  /** The id of the call; `null` for code of the run that is in the body of none. */
  readonly call: string | null;
  /** The number of the call in its run, as its events carry it; 0 for none. */
  readonly seq: number;
}

/** Somebody who observes what an enforcement does: more than a listener. What it is to calls is read when it is put on. */
export interface Observer {
  /** Called with each event, on the agent's own path: be quick. */
  readonly listen: Listener;
  /**
   * Whether calls depend on it: when `listen` throws as it is told of the start of a call, or answers with a promise, which
   * comes too late, that call is refused (`observer-failed`). It is told before the run moves and before other observers
   * hear of it.
   * @default false
   */
  readonly required?: boolean | undefined;
  /**
   * Whether `call.ended` is to carry what the call came to. All observers are then told.
   * @default false
   */
  readonly results?: boolean | undefined;
  /**
   * Runs code that is inside of a run or of a call's body, as tracing needs it: call `body` once, at once. What it returns or
   * throws changes nothing.
   */
  inside?(scope: Scope, body: () => unknown): unknown;
}

/** Hands events to observers, and shields the runs from what those do. */
export class Observers {
  // Replaced at every change, so that an event goes to those who listened when it happened.
  #subscriptions: readonly Subscription[] = [];

  /** Whether anyone listens: an event need not be made when no one does. */
  observed = false;
  /** Whether calls depend on anyone who listens. */
  required = false;
  /** Whether anyone asks for the results of calls. */
  results = false;
  /** Whether anyone wants to run code inside of runs and calls. */
  wraps = false;

  /** @returns A function that ends the subscription. */
  on(observer: Observer): () => void {
    const { required = false, results = false } = observer;
    const wraps = observer.inside !== undefined;
    const subscription: Subscription = { observer, required, results, wraps, ended: false };
    this.#replace([...this.#subscriptions, subscription]);
    return () => {
      subscription.ended = true;
      this.#replace(this.#subscriptions.filter((other) => other !== subscription));
    };
  }

  /** Tells all; or, of what {@link ask} has told the others, only those on whom no call depends. */
  emit(event: PhasegateEvent, asked = false): void {
    for (const { observer, required, ended } of this.#subscriptions) {
      if (ended || (asked && required)) continue;
      try {
        isPromise(observer.listen(event));
      } catch {
        // An observer harms nothing: neither the call nor the other observers.
      }
    }
  }

  /**
   * Tells those on whom calls depend of the start of one.
   *
   * @returns Why the call may not start, if one of them does not take note of it.
   */
  ask(events: readonly PhasegateEvent[]): string | undefined {
    for (const { observer, required, ended } of this.#subscriptions) {
      if (ended || !required) continue;
      try {
        for (const event of events) {
          if (isPromise(observer.listen(event))) return LATE;
        }
      } catch (error) {
        return messageOf(error);
      }
    }
    return undefined;
  }

  /** Runs code inside of a run or a call, for those who want to be around it. */
  inside<T>(scope: Scope, body: () => T): T {
    const around = this.#subscriptions.filter(({ wraps, ended }) => wraps && !ended);
    return around.reduce(
      (inner, { observer }) =>
        () =>
          within(observer, scope, inner),
      body,
    )();
  }

  #replace(subscriptions: readonly Subscription[]): void {
    this.#subscriptions = subscriptions;
    this.observed = subscriptions.length > 0;
    this.required = subscriptions.some(({ required }) => required);
    this.results = subscriptions.some(({ results }) => results);
    this.wraps = subscriptions.some(({ wraps }) => wraps);
  }
}

interface Subscription {
  readonly observer: Observer;
  readonly required: boolean;
  readonly results: boolean;
  readonly wraps: boolean;
  ended: boolean;
}

const LATE = 'an observer that calls depend on answered with a promise, and has to take note at once';

/** Whether an observer answered with a promise, of whose failure nobody is to hear. */
function isPromise(answer: unknown): boolean {
  if (typeof (answer as PromiseLike<unknown> | null | undefined)?.then !== 'function') return false;
  Promise.resolve(answer).catch(ignore);
  return true;
}

/** Whatever the observer does, the body runs once, and what comes of it is the body's. */
function within<T>(observer: Observer, scope: Scope, body: () => T): T {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  const once = (): T => {
    if (outcome === undefined) {
      try {
        outcome = { value: body() };
      } catch (error) {
        outcome = { error };
      }
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  };
  try {
    observer.inside?.(scope, once);
  } catch {
    // It was the body's own, which is thrown below; or nobody's concern.
  }
  return once();
}

function ignore(): void {}
