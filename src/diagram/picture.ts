import { isTerminal, type Phase } from '../phases.ts';
import type { Rules } from '../rules.ts';

/** What a diagram shows of some rules: phases and arrows, in the order in which they are declared. */
export interface Picture {
  readonly phases: readonly PicturedPhase[];
  readonly arrows: readonly Arrow[];
}

export interface PicturedPhase {
  readonly name: Phase;
  readonly terminal: boolean;
  /** Its place among the phases that arrows lead to from IDLE, nearest first; `Infinity` where none do. */
  readonly rank: number;
}

/** From one phase to another, to itself, or from whichever live phase the run is in. */
export interface Arrow {
  readonly from: Phase | typeof ANY_LIVE;
  readonly to: Phase;
  /** Whether the table has it; otherwise it is taken without being proposed. */
  readonly legal: boolean;
  /** When it is taken, in lines; none where that is for the run to decide. */
  readonly label: readonly string[];
}

/** Where an arrow begins that leads out of every live phase. No phase has this name. */
export const ANY_LIVE = '*';

/** The picture of these rules. */
export function pictureOf(rules: Rules): Picture {
  const { table } = rules;
  const arrows = [...transitions(rules), ...moves(rules), ...ends(rules)];
  const reached = reachedFrom('IDLE', arrows);
  const rankOf = new Map(reached.map((phase, rank) => [phase, rank]));
  return {
    phases: table.phases.map((name) => ({
      name,
      terminal: isTerminal(name),
      rank: rankOf.get(name) ?? Number.POSITIVE_INFINITY,
    })),
    arrows,
  };
}

function transitions(rules: Rules): Arrow[] {
  return rules.table.transitions.map(([from, to]) => {
    if (from === to) return { from, to, legal: true, label: loopLabel(from, rules) };
    const ends = from === 'ACTING' && to === 'OBSERVING';
    return { from, to, legal: true, label: ends ? [endLabel(rules)] : [] };
  });
}

// What calls do whether the table has it or not (SPEC §1.5, §5.5).
function moves(rules: Rules): Arrow[] {
  const { table } = rules;
  const arrows: Arrow[] = [];
  if (!table.isLegal('ACTING', 'OBSERVING')) {
    arrows.push({ from: 'ACTING', to: 'OBSERVING', legal: false, label: [endLabel(rules)] });
  }
  if (!table.isLegal('ACTING', 'ACTING')) {
    arrows.push({ from: 'ACTING', to: 'ACTING', legal: false, label: loopLabel('ACTING', rules) });
  }
  return arrows;
}

function ends({ onBudgetExhausted, onRejected }: Rules): Arrow[] {
  const end = (to: Phase, label: string): Arrow => ({
    from: ANY_LIVE,
    to,
    legal: false,
    label: [label],
  });
  return [
    end('ANSWERING', 'finish or abort'),
    ...(onRejected === 'terminate' ? [end('REJECTED', 'a check refuses')] : []),
    ...(onBudgetExhausted === 'terminate' ? [end('EXHAUSTED', 'a budget is used up')] : []),
  ];
}

function endLabel({ onToolError }: Rules): string {
  return onToolError === 'hold' ? 'call ends well' : 'call ends';
}

function loopLabel(phase: Phase, { onToolError, maxLoopsPerPhase }: Rules): readonly string[] {
  const many =
    maxLoopsPerPhase === Number.POSITIVE_INFINITY
      ? 'without limit'
      : maxLoopsPerPhase === 0
        ? 'never: the loop budget is 0'
        : `at most ${maxLoopsPerPhase} a visit`;
  if (phase !== 'ACTING') return [many];
  return [onToolError === 'hold' ? 'nested call or retry,' : 'nested call,', many];
}

function reachedFrom(start: Phase, arrows: readonly Arrow[]): readonly Phase[] {
  const reached = new Set([start]);
  for (const phase of reached) {
    for (const { from, to } of arrows) {
      if (from === phase || (from === ANY_LIVE && !isTerminal(phase))) reached.add(to);
    }
  }
  return [...reached];
}
