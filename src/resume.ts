/** How a saved run goes on. */
import { type Call, SupervisedCall } from './call.ts';
import { type Frame, innermostCall } from './context.ts';
import { describe } from './describe.ts';
import { invalidArgument, SavedRunError } from './errors.ts';
import type { Key } from './hash.ts';
import { checkOptions } from './options.ts';
import type { Run, RunOptions } from './run.ts';
import { differs, readSavedRun, type SavedParent, type SavedRun, type SaveOptions } from './saved-run.ts';
import { SupervisedRun } from './supervised-run.ts';
import type { Terms } from './terms.ts';

/** How a run is resumed; all else is as it was saved. */
export interface ResumeOptions extends SaveOptions, Pick<RunOptions, 'timeoutMs' | 'signal'> {
  /** The key that signed it: whatever is not signed with that is refused. */
  readonly key?: Key;
  /**
   * What becomes of the calls that were in flight. `interrupt`: their process is gone. They may have taken effect, so each is
   * charged as a step, and the phase is OBSERVING (SPEC §11.2). `keep`: their bodies go on elsewhere. They stay in flight, as
   * `run.callsInFlight`, until you end them.
   * @default 'interrupt'
   */
  readonly inFlight?: 'interrupt' | 'keep' | undefined;
  /**
   * For a child run, its parent run, or the call of that in whose body it goes on, which need not be the one in which it was
   * begun. Found by itself where the platform has `AsyncLocalStorage` (SPEC §11.4).
   */
  readonly parent?: Call | Run | null | undefined;
}

const OPTIONS = [
  'key',
  'inFlight',
  'timeoutMs',
  'signal',
  'parent',
] as const satisfies readonly (keyof ResumeOptions)[];

/**
 * @throws {SavedRunError} when what was given is no saved run of these terms, or not signed as it is to be.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function resume(given: unknown, options: ResumeOptions, terms: Terms): SupervisedRun {
  checkOptions('resumeRun', options, OPTIONS);
  const { inFlight = 'interrupt', timeoutMs, signal } = options;
  if (inFlight !== 'interrupt' && inFlight !== 'keep') {
    throw invalidArgument('inFlight', "'interrupt' or 'keep'", inFlight);
  }
  const saved = readSavedRun(given, terms.rules, terms.host.dfa, options);
  const { id, parent } = saved;
  const maxDepth = saved.maxDepth ?? Number.POSITIVE_INFINITY;
  const parentCall = parentCallOf(saved, options.parent);
  if (parentCall !== null) checkDepth(maxDepth, parentCall.run);
  return new SupervisedRun(
    terms,
    { id, timeoutMs, signal, budget: parent?.budget, maxDepth, parent: parentCall },
    { saved, inFlight },
  );
}

/**
 * A child run does not leave its ancestors, and their budgets, behind. An outermost run is resumed as one, wherever that is
 * done.
 */
function parentCallOf({ parent }: SavedRun, given: ResumeOptions['parent']): SupervisedCall | null {
  if (given !== undefined && given !== null && !isOwn(given)) {
    throw invalidArgument('parent', 'a call or a run of this package', given);
  }
  if (parent === null) {
    if (given) differs('parent', 'parent', `in run ${describe(runOf(given).id)}, or none be given`, null);
    return null;
  }
  const isParent = ({ run }: Frame) => run.id === parent.run;
  const found = given === undefined ? innermostCall(isParent) : given;
  if (found === null || !isParent(found)) {
    const expected = `it goes on in run ${describe(parent.run)}`;
    const got = found === null ? 'no parent' : `a parent in run ${describe(runOf(found).id)}`;
    throw new SavedRunError('parent', 'parent', `${expected}, and was given ${got}`);
  }
  return found instanceof SupervisedRun ? callIn(found, parent) : found;
}

function isOwn(given: Call | Run): given is SupervisedCall | SupervisedRun {
  return given instanceof SupervisedCall || given instanceof SupervisedRun;
}

function runOf(frame: Frame): SupervisedRun {
  return frame.run;
}

/** The call in which it was begun. It may have ended since: then something has to stand for it. */
function callIn(run: SupervisedRun, { call: seq, callId }: SavedParent): SupervisedCall {
  const inFlight = run.callsInFlight.find((call) => call.seq === seq);
  if (inFlight !== undefined) return inFlight;
  const ended = new SupervisedCall(run, '', undefined, seq, callId, null);
  ended.status = 'ended';
  return ended;
}

function checkDepth(maxDepth: number, parent: SupervisedRun): void {
  if (maxDepth > parent.depth && maxDepth <= parent.maxDepth) return;
  const expected = `from ${parent.depth + 1} to ${parent.maxDepth} inside of run ${describe(parent.id)}`;
  differs('parent', 'maxDepth', expected, Number.isFinite(maxDepth) ? maxDepth : null);
}
