import type { SupervisedCall } from './call.ts';
import type { Phase } from './phases.ts';
import type { RunActor } from './run-actor.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** What few runs need, or only at their end; made when it is needed, so that a live run stays small. */
export class RunExtras {
  reason: string | null = null;
  abortedWith: { readonly reason: unknown } | undefined;
  /** The phase whose loops are counted still, where the run has ended in another. */
  loopPhase: Phase | undefined;
  waiting: SupervisedCall | undefined;
  children: Set<SupervisedRun> | undefined;
  controller: AbortController | undefined;
  release: (() => void) | undefined;
  onAbort: ((error: unknown) => void) | undefined;
  actor: RunActor | undefined;
}
