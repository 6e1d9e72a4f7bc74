import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describeMcp } from '../suite/mcp/index.ts';

describeMcp({ McpServer, Client, InMemoryTransport, schemaFirst: true });
