/**
 * Puts servers and clients of the Model Context Protocol under enforcement: `@modelcontextprotocol/sdk` 1, and
 * `@modelcontextprotocol/server` and `@modelcontextprotocol/client` 2.
 *
 * @example
 * import { McpServer } from '@modelcontextprotocol/server';
 * import { createSupervisor } from 'phasegate';
 * import { supervise } from 'phasegate/mcp';
 *
 * const gate = supervise(createSupervisor({ maxSteps: 20 }));
 * const server = gate.server(new McpServer({ name: 'files', version: '1.0.0' }));
 * server.registerTool('read', { inputSchema: z.object({ name: z.string() }) }, readFile);
 *
 * @module
 */
export type { Supervising } from '../adapters/index.ts';
export type { Client, ClientOptions } from './client.ts';
export type { GateOptions, SessionRequest } from './options.ts';
export type { AuthInfo } from './protocol.ts';
export type { Server } from './server.ts';
export { type Gate, supervise } from './supervise.ts';
