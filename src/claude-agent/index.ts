/**
 * Puts agents of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`) under enforcement.
 *
 * @example
 * import * as claude from '@anthropic-ai/claude-agent-sdk';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/claude-agent';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const query = gate.agent(claude.query);
 * for await (const message of query({ prompt, options })) console.log(message.type);
 *
 * @module
 */
export type { AgentOptions, GateOptions, Supervising } from '../adapters/index.ts';
export type { Query } from './query.ts';
export { type Gate, supervise } from './supervise.ts';
export type { Tool } from './tools.ts';
