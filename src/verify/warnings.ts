/** What is legal in a table and may surprise whoever wrote it. */
import type { Node } from '../graph.ts';
import { DEFAULT_PHASES, isTerminal, type Phase } from '../phases.ts';
import type { Rules } from '../rules.ts';
import type { Warning } from './verify.ts';

/**
 * @param nodes The states that an exploration under cut budgets found.
 */
export function warningsOf(
  rules: Rules,
  nodes: readonly Node[],
  parallel: 'serialize' | 'concurrent',
): readonly Warning[] {
  return [
    ...endsThatNothingLeadsInto(rules),
    ...budgetsThatNeverBind(rules, nodes, parallel),
    ...phasesPassedThrough(rules),
    ...noRetries(rules),
  ];
}

function endsThatNothingLeadsInto({ table, onBudgetExhausted, onRejected }: Rules): Warning[] {
  const ends = [
    ['REJECTED', onRejected, 'onRejected'],
    ['EXHAUSTED', onBudgetExhausted, 'onBudgetExhausted'],
  ] as const;
  return ends
    .filter(([phase, policy]) => policy === 'deny' && !table.transitions.some(([, to]) => to === phase))
    .map(([phase, , option]) => ({
      id: 'no-way-into',
      message: `Nothing leads into ${phase}. That is the default: a refused call leaves the run where it was. ${option}: 'terminate' would end it there`,
    }));
}

function budgetsThatNeverBind(
  rules: Rules,
  nodes: readonly Node[],
  parallel: 'serialize' | 'concurrent',
): Warning[] {
  const { maxSteps, maxLoopsPerPhase } = rules;
  const warnings: Warning[] = [];
  if (!stepBudgetBinds(rules, parallel)) {
    const why =
      maxSteps === Number.POSITIVE_INFINITY
        ? 'it has no limit'
        : `ACTING is not entered a second time, and one visit has no more than ${maxLoopsPerPhase + 1} calls`;
    warnings.push({
      id: 'budget-never-binds',
      message: `The step budget of ${maxSteps} can never be used up: ${why}`,
    });
  }
  if (!loopBudgetBinds(rules, nodes)) {
    const why =
      maxLoopsPerPhase === Number.POSITIVE_INFINITY
        ? 'it has no limit'
        : 'no phase is looped on so often within the step budget';
    warnings.push({
      id: 'budget-never-binds',
      message: `The loop budget of ${maxLoopsPerPhase} can never be used up: ${why}`,
    });
  }
  return warnings;
}

/** Whether some run is refused for its step budget. Where ACTING is entered once, its loop budget bounds the calls. */
function stepBudgetBinds(
  { table, maxSteps, maxLoopsPerPhase, onToolError }: Rules,
  parallel: 'serialize' | 'concurrent',
): boolean {
  if (maxSteps === Number.POSITIVE_INFINITY) return false;
  if (maxSteps === 0) return true;
  if (table.pathToActing('IDLE') === undefined) return false;
  if (parallel === 'concurrent') return true;
  if (table.pathToActing('OBSERVING') !== undefined) return true;
  // Calls nested in one that fails are steps too, and the run may then leave ACTING by another way and come back.
  const comesBack = table
    .targetsOf('ACTING')
    .some((phase) => phase !== 'ACTING' && table.pathToActing(phase) !== undefined);
  if (comesBack && onToolError === 'hold' && maxLoopsPerPhase > 0) return true;
  return maxSteps <= 1 + maxLoopsPerPhase;
}

/** Whether some run is refused a self-loop for its loop budget while it has steps left. */
function loopBudgetBinds({ table, maxSteps, maxLoopsPerPhase }: Rules, nodes: readonly Node[]): boolean {
  if (maxLoopsPerPhase === Number.POSITIVE_INFINITY) return false;
  return nodes.some(({ state, edges }) => {
    const { phase, stepCount, inFlight } = state;
    if (isTerminal(phase) || stepCount + inFlight >= maxSteps) return false;
    const loop = inFlight === 0 && table.isLegal(phase, phase) ? `propose.${phase}` : 'call.start';
    return (
      (phase === 'ACTING' || loop !== 'call.start') &&
      edges.some((edge) => edge.event === (phase === 'ACTING' ? 'call.start' : loop) && edge.refused)
    );
  });
}

function phasesPassedThrough({ table }: Rules): Warning[] {
  const rests: readonly Phase[] = ['IDLE', 'OBSERVING'];
  const passed = rests.flatMap((from) =>
    (table.pathToActing(from) ?? []).slice(1, -1).map((phase) => [phase, from] as const),
  );
  return table.phases.flatMap((phase) => {
    const from = passed.filter(([through]) => through === phase).map(([, rest]) => rest);
    if (from.length === 0) return [];
    const usual = (DEFAULT_PHASES as readonly Phase[]).includes(phase)
      ? 'as in the default table'
      : 'no one is asked: to stop runs there, let a check refuse calls until the run was moved on';
    return [
      {
        id: 'passed-through',
        message: `A call made in ${from.join(' or ')} passes through ${phase} by itself (${usual})`,
      },
    ];
  });
}

function noRetries({ maxLoopsPerPhase, onToolError }: Rules): Warning[] {
  if (maxLoopsPerPhase !== 0 || onToolError === 'observe') return [];
  return [
    {
      id: 'no-retries',
      message:
        'A loop budget of 0 also forbids the call after a failed one, since that is a self-loop on ACTING. ' +
        "onToolError: 'observe' would allow it",
    },
  ];
}
