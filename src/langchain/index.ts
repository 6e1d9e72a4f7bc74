/**
 * Puts agents of LangChain (`langchain` 1) and graphs of LangGraph (`@langchain/langgraph` 1) under enforcement.
 *
 * @example
 * import { createAgent } from 'langchain';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/langchain';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const agent = gate.agent(createAgent({ model, tools: gate.tools([search, readFile]) }));
 * const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] });
 *
 * @module
 */
export type { AgentOptions, GateOptions, Supervising } from '../adapters/index.ts';
export type { Agent } from './agents.ts';
export type { GateMiddleware, Middleware, ToolCallRequest } from './middleware.ts';
export { type Gate, supervise } from './supervise.ts';
export type { Tool } from './tools.ts';
