/**
 * Draws the phases of a supervisor: as Mermaid, as SVG, as a directed graph, and as the config of its XState machine.
 *
 * @example
 * import { createSupervisor } from 'phasegate';
 * import { toMermaid, toSvg } from 'phasegate/diagram';
 *
 * const supervisor = createSupervisor({ maxSteps: 20 });
 * console.log(toMermaid(supervisor));
 * await writeFile('phases.svg', await toSvg(supervisor));
 *
 * @module
 */
export { toDirectedGraph } from './graph.ts';
export { toMermaid } from './mermaid.ts';
export { type SvgOptions, toSvg } from './svg.ts';
export type { Theme } from './theme.ts';
export { type PhaseMachineConfig, toXStateConfig, toXStateJson } from './xstate.ts';
