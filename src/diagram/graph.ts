import { directedGraph } from '../graph.ts';
import type { Supervisor } from '../supervisor.ts';

/**
 * The phase machine of a supervisor as a directed graph, as @xstate/graph describes it: plain data, to be written as
 * JSON. Its children are the phases, and its edges what each event does, self-loops and refusals included.
 *
 * @example toDirectedGraph(createSupervisor());
 */
export function toDirectedGraph(supervisor: Supervisor): object {
  return directedGraph(supervisor.machine);
}
