import { ownCall, type SupervisedCall } from './call.ts';
import { innermostCall } from './context.ts';
import { ToolExecutionBlocked } from './errors.ts';
import type { RunOptions } from './run.ts';
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
