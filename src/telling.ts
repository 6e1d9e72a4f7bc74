/** What listeners are told of the calls and phases of a run. */
import type { SupervisedCall } from './call.ts';
import type { Phase } from './phases.ts';
import type { Refusal } from './refusal.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** A run moved. */
export function tellOfPhase(run: SupervisedRun, time: number, from: Phase, phase: Phase): void {
  run.host.events.emit({ type: 'phase.entered', time, run: run.id, from, phase });
}

/** A call was admitted. @returns Whether all was told: nothing starts any more once a listener has ended the run. */
export function tellOfStart(call: SupervisedCall, path: readonly Phase[]): boolean {
  const { run } = call;
  const time = call.time ?? Date.now();
  for (let hop = 1; hop < path.length; hop++) {
    tellOfPhase(run, time, path[hop - 1] as Phase, path[hop] as Phase);
    if (!run.live) return false;
  }
  run.host.events.emit({
    type: 'call.started',
    time,
    run: run.id,
    call: call.id,
    tool: call.tool,
    parent: call.parent?.id ?? null,
    args: call.args,
  });
  return true;
}

/** A call was refused. */
export function tellOfRefusal(call: SupervisedCall, { code, message, stage }: Refusal): void {
  const { run } = call;
  if (!run.host.events.observed) return;
  run.host.events.emit({
    type: 'call.refused',
    time: Date.now(),
    run: run.id,
    call: call.id,
    tool: call.tool,
    parent: call.parent?.id ?? null,
    args: call.args,
    code,
    message,
    stage,
  });
}
