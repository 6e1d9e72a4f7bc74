/** Few and short paths that reach all goals: greedy, from goal to nearest goal. */
import type { Node } from '../graph.ts';
import type { Move } from './goals.ts';

/** What is to be covered, as the search sees it. */
export interface Goals {
  /** The moves of a node, refused ones too: those change nothing, so that a path goes on after them. */
  movesOf(node: Node): readonly Move[];
  /** The goals that a move reaches, coming after another. */
  goalsOf(move: Move, before: Move | undefined): readonly string[];
  /** Whether what a move reaches depends on the one before. */
  readonly inPairs: boolean;
}

/** After how many moves a path is long enough, and the next goal gets a path of its own. */
const LONG = 16;

/**
 * @param start Where every path begins.
 * @param open The goals that are to be reached; those that were are taken out.
 * @returns The paths, none of which is empty.
 */
export function coverGoals(start: Node, goals: Goals, open: Set<string>): Move[][] {
  const paths: Move[][] = [];
  while (open.size > 0) {
    const path: Move[] = [];
    for (let length = 0, last: Move | undefined; length < LONG; ) {
      const way = nearestGoal(last, start, goals, open);
      // Turning back for a far goal makes a path long: a new one from the start is better.
      if (way === undefined || (path.length > 0 && length + way.length > LONG)) break;
      for (const move of way) {
        for (const goal of goals.goalsOf(move, last)) open.delete(goal);
        path.push(move);
        if (move.refused) continue;
        last = move;
        length += 1;
      }
    }
    if (path.length === 0) break;
    paths.push(path);
  }
  return paths;
}

/** All goals that some move reaches. */
export function reachableGoals(nodes: readonly Node[], { movesOf, goalsOf, inPairs }: Goals): Set<string> {
  const reached = new Set<string>();
  for (const node of nodes) {
    for (const move of movesOf(node)) {
      const next = inPairs && !move.refused ? movesOf(move.target) : [];
      for (const goal of goalsOf(move, undefined)) reached.add(goal);
      for (const after of next) {
        for (const goal of goalsOf(after, move)) reached.add(goal);
      }
    }
  }
  return reached;
}

function nearestGoal(
  last: Move | undefined,
  start: Node,
  { movesOf, goalsOf, inPairs }: Goals,
  open: ReadonlySet<string>,
): Move[] | undefined {
  const seen = new Set<Move | Node>();
  const cameBy = new Map<Move, Move | undefined>();
  const queue: (Move | undefined)[] = [last];
  for (const before of queue) {
    for (const move of movesOf(before?.target ?? start)) {
      if (goalsOf(move, before).some((goal) => open.has(goal))) return wayTo(move, before, last, cameBy);
      const place = inPairs ? move : move.target;
      if (move.refused || seen.has(place)) continue;
      seen.add(place);
      cameBy.set(move, before);
      queue.push(move);
    }
  }
  return undefined;
}

function wayTo(
  move: Move,
  before: Move | undefined,
  last: Move | undefined,
  cameBy: ReadonlyMap<Move, Move | undefined>,
): Move[] {
  const way: Move[] = [move];
  for (let at = before; at !== undefined && at !== last; at = cameBy.get(at)) way.push(at);
  return way.reverse();
}
