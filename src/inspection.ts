import type { ActorRefLike, InspectionEvent, Observer } from 'xstate';
import { invalidArgument } from './errors.ts';
import type { PhaseActor } from './run-actor.ts';

/** What XState's `createActor` takes as `inspect`: a callback, or an observer such as that of `@statelyai/inspect`. */
export type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/** @throws {PhasegateError} `invalid-argument`. */
export function checkInspect(inspect: unknown): void {
  if (typeof inspect === 'function') return;
  if (typeof (inspect as Partial<Observer<unknown>> | null | undefined)?.next === 'function') return;
  throw invalidArgument('inspect', 'a function, or an object with a function next', inspect);
}

/**
 * Tells an inspector what becomes of an actor, and of those under it. XState would tell of all actors of the system, and
 * of a new one while it is no more than half made.
 *
 * @param toldAlready Whether something else tells it.
 * @returns A function that ends it.
 */
export function inspectActor(actor: PhaseActor, inspect: Inspect, toldAlready: () => boolean): () => void {
  const subscription = actor.system.inspect((event) => {
    if (event.type === '@xstate.actor' || !isUnder(event.actorRef, actor) || toldAlready()) return;
    tell(inspect, event);
  });
  return () => subscription.unsubscribe();
}

/** Tells an inspector that there is an actor. */
export function tellOfActor(actor: PhaseActor, inspect: Inspect): void {
  tell(inspect, { type: '@xstate.actor', actorRef: actor, rootId: rootOf(actor).sessionId });
}

/** Tells an inspector where an actor is, as XState does when it starts one. */
export function tellOfSnapshot(actor: PhaseActor, inspect: Inspect): void {
  tell(inspect, {
    type: '@xstate.snapshot',
    actorRef: actor,
    rootId: rootOf(actor).sessionId,
    event: { type: 'xstate.init' },
    snapshot: actor.getSnapshot(),
  });
}

// XState calls inspectors from inside of `send`: what is thrown there would end the actor.
function tell(inspect: Inspect, event: InspectionEvent): void {
  try {
    const result: unknown = typeof inspect === 'function' ? inspect(event) : inspect.next?.(event);
    const { then } = (result ?? {}) as Partial<PromiseLike<unknown>>;
    if (typeof then === 'function') Promise.resolve(result).catch(ignore);
  } catch {
    // An inspector harms nothing: neither the run nor the other inspectors.
  }
}

type Nested = ActorRefLike & { readonly _parent?: Nested };

function isUnder(actor: Nested, above: ActorRefLike): boolean {
  for (let one: Nested | undefined = actor; one !== undefined; one = one._parent)
    if (one === above) return true;
  return false;
}

function rootOf(actor: Nested): ActorRefLike {
  let root = actor;
  while (root._parent !== undefined) root = root._parent;
  return root;
}

function ignore(): void {}
