import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { describeMcp } from '../suite/mcp/index.ts';

describeMcp({ McpServer, Client, InMemoryTransport, schemaFirst: false });
