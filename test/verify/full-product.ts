/**
 * A second implementation of the rules, for the tests: every state of phase × steps × loops × calls in flight under the
 * real budgets, found by a plain breadth-first search. Slow, and simple enough to be believed.
 */
import { isTerminal, type Phase } from '../../src/phases.ts';
import type { Rules } from '../../src/rules.ts';

interface State {
  readonly phase: Phase;
  readonly steps: number;
  readonly loops: number;
  readonly calls: number;
}

interface Move {
  readonly event: string;
  readonly from: State;
  readonly to: State;
}

const keyOf = ({ phase, steps, loops, calls }: State) => `${phase} ${steps} ${loops} ${calls}`;

function movesFrom(rules: Rules, from: State): Move[] {
  const { table, maxSteps, maxLoopsPerPhase, onToolError } = rules;
  const { phase, steps, loops, calls } = from;
  const moves: Move[] = [];
  const add = (event: string, to: Partial<State>) => moves.push({ event, from, to: { ...from, ...to } });
  if (isTerminal(phase)) return moves;
  const room = steps + calls < maxSteps;
  if (room && calls === 0) {
    for (const [source, target] of table.transitions) {
      if (source !== phase) continue;
      if (target !== phase) add(`propose.${target}`, { phase: target, loops: 0 });
      else if (loops < maxLoopsPerPhase) add(`propose.${target}`, { loops: loops + 1 });
    }
  }
  if (room && phase === 'ACTING' && loops < maxLoopsPerPhase)
    add('call.start', { loops: loops + 1, calls: calls + 1 });
  if (room && phase !== 'ACTING' && table.isLegal(phase, 'ACTING')) {
    add('call.start', { phase: 'ACTING', loops: 0, calls: 1 });
  }
  if (calls > 0) {
    const last = calls === 1;
    add('call.succeed', {
      steps: steps + 1,
      calls: calls - 1,
      ...(last && { phase: 'OBSERVING', loops: 0 }),
    });
    add('call.fail', {
      calls: calls - 1,
      ...(last && onToolError === 'observe' && { phase: 'OBSERVING', loops: 0 }),
    });
  }
  return moves;
}

/** What is true of all runs under these rules, by looking at all of them. */
export function fullProduct(rules: Rules) {
  const start: State = { phase: 'IDLE', steps: 0, loops: 0, calls: 0 };
  const found = new Map<
    string,
    { readonly state: State; readonly moves: readonly Move[]; readonly distance: number }
  >();
  const queue: (readonly [State, number])[] = [[start, 0]];
  for (const [state, distance] of queue) {
    if (found.has(keyOf(state))) continue;
    const moves = movesFrom(rules, state);
    found.set(keyOf(state), { state, moves, distance });
    queue.push(...moves.map((move) => [move.to, distance + 1] as const));
  }
  const all = [...found.values()];
  const reaches = (goal: (s: State) => boolean, inside: (s: State) => boolean) => {
    const good = new Set(all.filter(({ state }) => goal(state)).map(({ state }) => keyOf(state)));
    for (let grown = true; grown; ) {
      grown = false;
      for (const { state, moves } of all) {
        if (good.has(keyOf(state)) || !inside(state)) continue;
        if (moves.some((move) => good.has(keyOf(move.to)))) {
          good.add(keyOf(state));
          grown = true;
        }
      }
    }
    return (state: State) => good.has(keyOf(state));
  };
  const { table, maxSteps, maxLoopsPerPhase } = rules;
  const hasRoom = ({ steps, calls }: State) => steps + calls < maxSteps;
  const canCall = reaches(
    (state) => state.calls === 0 && movesFrom(rules, state).some(({ event }) => event === 'call.start'),
    (state) => state.calls === 0,
  );
  const canEnd = reaches(
    ({ phase }) => isTerminal(phase),
    () => true,
  );
  const stuck = all.filter(({ state }) => {
    return state.calls === 0 && !isTerminal(state.phase) && hasRoom(state) && !canCall(state);
  });
  const moves = all.flatMap((entry) => entry.moves);
  const reached = new Set(all.map(({ state }) => state.phase));
  return {
    states: all.length,
    reached,
    neverTaken: table.transitions
      .filter(
        ([from, to]) => !moves.some((move) => move.from.phase === from && move.event === `propose.${to}`),
      )
      .map(([from, to]) => `${from} -> ${to}`),
    stuck: stuck.length > 0,
    stuckPhases: new Set(stuck.map(({ state }) => state.phase)),
    nearestStuck: Math.min(...stuck.map(({ distance }) => distance)),
    traps: [...reached].filter(
      (phase) => !isTerminal(phase) && !all.some(({ state }) => state.phase === phase && canEnd(state)),
    ),
    stepBudgetBinds: all.some(
      ({ state }) =>
        !isTerminal(state.phase) &&
        !hasRoom(state) &&
        (state.calls > 0 || state.phase === 'OBSERVING' || maxSteps === 0),
    ),
    loopBudgetBinds: all.some(({ state }) => {
      const loops =
        state.phase === 'ACTING' || (state.calls === 0 && table.isLegal(state.phase, state.phase));
      return loops && hasRoom(state) && !isTerminal(state.phase) && state.loops >= maxLoopsPerPhase;
    }),
    goes: (from: Phase, to: Phase) =>
      moves.some(
        (move) =>
          move.from.phase === from &&
          move.to.phase === to &&
          (from !== to || move.to.loops > move.from.loops),
      ),
    /** Whether some run enters ACTING from OBSERVING with no visit to `via` in between. */
    goesAround: (via: Phase) => {
      const seen = new Set<string>();
      const next =
        via === 'OBSERVING' ? [] : all.map(({ state }) => state).filter(({ phase }) => phase === 'OBSERVING');
      for (const state of next) {
        if (seen.has(keyOf(state))) continue;
        seen.add(keyOf(state));
        for (const { to } of movesFrom(rules, state)) {
          if (to.phase === via) continue;
          if (to.phase === 'ACTING') return true;
          next.push(to);
        }
      }
      return false;
    },
  };
}
