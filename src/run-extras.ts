import type { SupervisedCall } from './call.ts';
import type { Phase } from './phases.ts';
import type { RunActor } from './run-actor.ts';
import type { SavedCall } from './saved-run.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** What few runs need, or only at their end; made when it is needed, so that a live run stays small. */
export class RunExtras {
  reason: string | null = null;
  abortedWith: { readonly reason: unknown } | undefined;
  /** The phase that it ended in: its loops are counted still. */
  endedFrom: Phase | undefined;
  waiting: SupervisedCall | undefined;
  children: Set<SupervisedRun> | undefined;
  controller: AbortController | undefined;
  release: (() => void) | undefined;
  onAbort: ((error: unknown) => void) | undefined;
  actor: RunActor | undefined;
  /** Of a run that was resumed: calls of child runs that it has reserved a step for until those are resumed too. */
  unclaimedCalls = 0;
  /** Of a run that was resumed: the calls in flight that did not come back with it. */
  interrupted: readonly SavedCall[] | undefined;
}
