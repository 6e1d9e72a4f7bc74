/**
 * Puts agents of Mastra (`@mastra/core` 1.71 and later) under enforcement.
 *
 * @example
 * import { Agent } from '@mastra/core/agent';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/mastra';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const agent = gate.agent(
 *   new Agent({ id: 'finder', name: 'Finder', instructions, model, tools: gate.tools({ search, readFile }) }),
 * );
 * const { text } = await agent.generate(prompt);
 *
 * @module
 */
export type { AgentOptions, GateOptions, Supervising } from '../adapters/index.ts';
export type { Agent } from './agents.ts';
export { type Gate, supervise } from './supervise.ts';
export type { Tool } from './tools.ts';
