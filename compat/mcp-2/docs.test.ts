import { describeDocs } from '../suite/docs.ts';

const CONNECT = `
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, type McpServer } from '@modelcontextprotocol/server';

export async function connect(server: McpServer): Promise<Client> {
  const client = new Client({ name: 'reader', version: '1.0.0' });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  return client;
}
`;

const CLIENT = `
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { connect } from './connect.ts';

const server = new McpServer({ name: 'pages', version: '1.0.0' });
server.registerTool('read', { inputSchema: z.object({ page: z.number() }) }, async ({ page }) => ({
  content: [{ type: 'text', text: \`page \${page}\` }],
}));
export const client = await connect(server);
`;

describeDocs('phasegate/mcp', { 'connect.ts': CONNECT, 'client.ts': CLIENT });
