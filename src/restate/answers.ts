/** What the object answers, made of runs and errors of the core. */
import type { Call } from '../call.ts';
import { messageOf } from '../describe.ts';
import { PhasegateError, ToolExecutionBlocked } from '../errors.ts';
import type { Answer, RefusedDetails, Requests, RunView } from './protocol.ts';
import type { Branch } from './tree.ts';

export function viewOf({ run, timedOut }: Branch): RunView {
  return { state: run.state, timedOut };
}

export function admitted(key: string, { id }: Call, branch: Branch): Answer {
  return { is: 'admitted', call: key, callId: id, view: viewOf(branch) };
}

/** @param branch Absent where there is no such run. */
export function refused(details: RefusedDetails, branch?: Branch): Answer {
  return { is: 'refused', refusal: details, view: branch === undefined ? null : viewOf(branch) };
}

/** Why the core refused, as JSON. */
function detailsOf(blocked: ToolExecutionBlocked): RefusedDetails {
  const { message, tool, callId, runId, stage, code, phase, stepCount } = blocked;
  return { message, tool, callId, runId, stage, code, result: resultOf(blocked), phase, stepCount };
}

/** A monitor of one's own may say more than JSON can hold; what cannot be written down would be decided for ever. */
function resultOf({ result }: ToolExecutionBlocked): RefusedDetails['result'] {
  try {
    return JSON.parse(JSON.stringify(result));
  } catch {
    return null;
  }
}

/**
 * Why a call is refused that the core did not admit.
 *
 * @throws What it was given, when it is no refusal and no fault of the question: then the core has failed.
 */
export function refusalFor(error: unknown, asked: Requests['beforeCall'], branch: Branch): RefusedDetails {
  if (error instanceof ToolExecutionBlocked) return detailsOf(error);
  if (!(error instanceof PhasegateError)) throw error;
  const { code, message } = error;
  return refusal(branch, asked, { code, message: `Cannot call ${asked.tool}: ${message}` });
}

/** Why the object refuses where the core is not asked. */
export function refusal(
  { run }: Branch,
  { tool, callId }: { readonly tool: string; readonly callId: string | null },
  { code, message }: { readonly code: string; readonly message: string },
): RefusedDetails {
  const { phase, stepCount } = run.state;
  return { message, tool, callId, runId: run.id, stage: 'enforcement', code, result: null, phase, stepCount };
}

/** A call that is over is not admitted once more. */
export function callEnded(
  call: { readonly tool: string; readonly callId: string },
  branch: Branch,
): RefusedDetails {
  const message = `Cannot call ${call.tool}: this call has ended, or its machine was taken for dead`;
  return refusal(branch, call, { code: 'call-ended', message });
}

export function noActiveRun({ run, tool, callId }: Requests['beforeCall']): RefusedDetails {
  const message = `Cannot call ${tool}: no agent run is active of the id ${run}, or it ended a while ago`;
  const at = { callId, runId: run, phase: null, stepCount: 0 };
  return { message, tool, ...at, stage: 'enforcement', code: 'no-active-run', result: null };
}

/** What is answered where nothing was changed; an internal fault refuses (SPEC §9). */
export function answerToError(error: unknown): Answer {
  if (error instanceof ToolExecutionBlocked) return refused(detailsOf(error));
  if (error instanceof PhasegateError) return { is: 'fault', code: error.code, message: error.message };
  return { is: 'fault', code: 'enforcement-failed', message: `The enforcement failed: ${messageOf(error)}` };
}
