/**
 * Puts agents of the AI SDK (`ai` 6 and 7) under enforcement.
 *
 * @example
 * import { ToolLoopAgent } from 'ai';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/ai-sdk';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const agent = gate.agent(new ToolLoopAgent({ model, tools: gate.tools({ search, readFile }) }));
 * const { text } = await agent.generate({ prompt });
 *
 * @module
 */
export type { AgentOptions, GateOptions, Supervising } from '../adapters/index.ts';
export type { Agent, AgentFunction } from './agents.ts';
export { type Gate, supervise } from './supervise.ts';
export type { Tool } from './tools.ts';
