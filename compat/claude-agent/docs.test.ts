import { readFileSync } from 'node:fs';
import { describe } from 'vitest';
import { describeDocs } from '../suite/docs.ts';
import { reasonToSkip } from './claude.ts';

// Lead to a model that asks for three pages, and says what it was told.
const OPTIONS = `
import type { Options } from '@anthropic-ai/claude-agent-sdk';
import { serveModel } from './api.ts';
import { optionsFor } from './claude.ts';

const pages = [1, 2, 3].map((page) => ({ tool: 'mcp__pages__read', args: { page } }));
const address = await serveModel(() => (turn, told) =>
  turn === 0 ? pages : \`I have read: \${told.join(', ')}\`,
);
const own = optionsFor(address);
// Tools have the names there that they have everywhere.
export const options: Options = { ...own, env: { ...own.env, CLAUDE_AGENT_SDK_MCP_NO_PREFIX: undefined } };
`;

const reason = await reasonToSkip();

describe.skipIf(reason !== undefined)(
  `Claude Code${reason ? `, which does not start here: ${reason}` : ''}`,
  () => {
    describeDocs('phasegate/claude-agent', {
      'options.ts': OPTIONS,
      'api.ts': readFileSync('api.ts', 'utf8'),
      'claude.ts': readFileSync('claude.ts', 'utf8'),
    });
  },
);
