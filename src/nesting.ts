import { type Call, ownCall, type SupervisedCall } from './call.ts';
import { type Frame, innermostCall } from './context.ts';
import { describe } from './describe.ts';
import { SavedRunError, ToolExecutionBlocked } from './errors.ts';
import type { RunOptions } from './run.ts';
import { differs, type SavedRun } from './saved-run.ts';
import type { SupervisedRun } from './supervised-run.ts';

/** Where a run lies among others. */
export interface Nesting {
  readonly parentCall: SupervisedCall | null;
  readonly depth: number;
  readonly maxDepth: number;
  /** The nearest run whose step budget its calls count in besides its own. */
  readonly payer: SupervisedRun | null;
}

const MAX_DEPTH = 5;
const OUTERMOST: Nesting = { parentCall: null, depth: 0, maxDepth: MAX_DEPTH, payer: null };

/**
 * Where a run that begins now lies: inside of the call that it is given, or that the present code is inside of.
 *
 * @throws {ToolExecutionBlocked} `depth-exceeded` (SPEC §10.3).
 * @throws {PhasegateError} `invalid-argument` when that call is none.
 */
export function nestingOf({ parent, budget = 'shared', maxDepth }: RunOptions): Nesting {
  const parentCall = parent === undefined ? innermostCall() : ownCall('parent', parent);
  if (parentCall === null) {
    return maxDepth === undefined ? OUTERMOST : { ...OUTERMOST, maxDepth };
  }
  const { run } = parentCall;
  const depth = run.depth + 1;
  const bound = Math.min(maxDepth ?? Number.POSITIVE_INFINITY, run.maxDepth);
  if (depth > bound) throw tooDeep(parentCall, bound);
  return { parentCall, depth, maxDepth: bound, payer: budget === 'shared' ? run : null };
}

/**
 * The call in which a saved run goes on: the one that it is given, or the innermost of its parent run that the present code
 * is inside of. An outermost run is resumed as one, wherever that is done.
 *
 * @throws {SavedRunError} A child run does not leave its ancestors, and their budgets, behind.
 * @throws {PhasegateError} `invalid-argument` when what it is given is no call.
 */
export function parentCallOf(saved: SavedRun, given: Call | null | undefined): SupervisedCall | null {
  const call = given === undefined ? null : ownCall('parent', given);
  const { parent } = saved;
  if (parent === null) {
    if (call !== null) differs('parent', 'parent', `a call of run ${call.run.id}, or none be given`, null);
    return null;
  }
  const inParent = ({ run }: Frame) => run.id === parent.run;
  const found = given === undefined ? innermostCall(inParent) : call;
  const name = describe(parent.run);
  if (found === null || !inParent(found)) {
    const got = found === null ? 'none' : `one of run ${describe(found.run.id)}`;
    throw new SavedRunError('parent', 'parent', `it goes on in a call of run ${name}, and was given ${got}`);
  }
  const { run } = found;
  if (run.depth + 1 > Math.min(saved.maxDepth ?? Number.POSITIVE_INFINITY, run.maxDepth)) {
    differs('parent', 'maxDepth', `at least ${run.depth + 1} inside of run ${name}`, saved.maxDepth);
  }
  return found;
}

function tooDeep({ run, tool, id }: SupervisedCall, maxDepth: number): ToolExecutionBlocked {
  return new ToolExecutionBlocked(`Runs nest deeper than ${maxDepth}`, {
    tool,
    callId: id,
    runId: run.id,
    stage: 'enforcement',
    code: 'depth-exceeded',
    result: null,
    phase: run.phase,
    stepCount: run.stepCount,
  });
}
