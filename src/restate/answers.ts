/** What the object answers, made of runs and errors of the core. */
import type { Call } from '../call.ts';
import { messageOf } from '../describe.ts';
import { PhasegateError, ToolExecutionBlocked } from '../errors.ts';
import type { Answer, Requests, RunView } from './protocol.ts';
import type { Branch } from './tree.ts';

export function viewOf({ run, timedOut }: Branch): RunView {
  return { state: run.state, timedOut };
}

export function admitted(key: string, { id }: Call, branch: Branch): Answer {
  return { is: 'admitted', call: key, callId: id, view: viewOf(branch) };
}

export function refused(
  branch: Branch,
  tool: string,
  callId: string | null,
  code: string,
  message: string,
): Answer {
  const { phase, stepCount } = branch.run.state;
  const runId = branch.run.id;
  const refusal = {
    message,
    tool,
    callId,
    runId,
    stage: 'enforcement',
    code,
    result: null,
    phase,
    stepCount,
  };
  return { is: 'refused', refusal, view: viewOf(branch) };
}

export function refusalOf(blocked: ToolExecutionBlocked, branch?: Branch): Answer {
  const { message, tool, callId, runId, stage, code, result, phase, stepCount } = blocked;
  const refusal = { message, tool, callId, runId, stage, code, result, phase, stepCount };
  return { is: 'refused', refusal, view: branch === undefined ? null : viewOf(branch) };
}

export function noActiveRun({ run, tool, callId }: Requests['beforeCall']): Answer {
  const message = `Cannot call ${tool}: no agent run is active of the id ${run}, or it ended a while ago`;
  const at = { callId: callId ?? null, runId: run, phase: null, stepCount: 0 };
  const why = { message, stage: 'enforcement', code: 'no-active-run', result: null };
  return { is: 'refused', refusal: { tool, ...at, ...why }, view: null };
}

/** What is answered where nothing was changed; an internal fault refuses (SPEC §9). */
export function answerToError(error: unknown): Answer {
  if (error instanceof ToolExecutionBlocked) return refusalOf(error);
  if (error instanceof PhasegateError) return { is: 'fault', code: error.code, message: error.message };
  return { is: 'fault', code: 'enforcement-failed', message: `The enforcement failed: ${messageOf(error)}` };
}
