/**
 * Puts agents of the OpenAI Agents SDK (`@openai/agents`) under enforcement.
 *
 * @example
 * import { Agent, run, tool } from '@openai/agents';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/openai-agents';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const search = gate.tool(tool)({ name: 'search', description, parameters, execute });
 * const agent = new Agent({ name: 'Finder', tools: [search] });
 * const { finalOutput } = await gate.agent(run)(agent, 'Go');
 *
 * @module
 */
export type { AgentOptions, GateOptions, Supervising } from '../adapters/index.ts';
export type { RunFunction, Runner } from './agents.ts';
export type { McpServer } from './mcp.ts';
export type { Agent } from './sub-agents.ts';
export { type Gate, supervise } from './supervise.ts';
export type { Tool, ToolFactory } from './tools.ts';
