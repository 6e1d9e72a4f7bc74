import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Version } from '../suite/mcp/version.ts';

export const version: Version = {
  McpServer,
  Client,
  InMemoryTransport,
  schemaFirst: true,
  httpTransport: (onSession) => {
    if (onSession === undefined) return new StreamableHTTPServerTransport({});
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => onSession(id, transport),
    });
    return transport;
  },
  httpClientTransport: (url) => new StreamableHTTPClientTransport(url),
};
