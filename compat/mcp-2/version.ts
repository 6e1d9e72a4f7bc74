import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import type { Version } from '../suite/mcp/version.ts';

export const version: Version = {
  McpServer,
  Client,
  InMemoryTransport,
  schemaFirst: false,
  httpTransport: (onSession) => {
    if (onSession === undefined) return new NodeStreamableHTTPServerTransport({});
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => onSession(id, transport),
    });
    return transport;
  },
  httpClientTransport: (url) => new StreamableHTTPClientTransport(url),
};
