import { messageOf } from './describe.ts';
import { RunAbortedError } from './errors.ts';

/** The error that `withRun` rejects with when a run is aborted: the reason itself, where that is one. */
export function abortError(reason: unknown, runId: string): unknown {
  return isError(reason) ? reason : new RunAbortedError('run-aborted', runId, reasonText(reason), reason);
}

/** The reason of an abort in words, whatever was given. */
export function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  if (reason === undefined) return 'no reason given';
  return isError(reason) && reason instanceof RunAbortedError ? reason.reason : messageOf(reason);
}

// A proxy may throw when it is asked.
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}
