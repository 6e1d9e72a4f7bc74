import { describe } from 'vitest';
import { describeExample } from '../suite/example.ts';
import { reasonToSkip } from './claude.ts';

const reason = await reasonToSkip();

describe.skipIf(reason !== undefined)(
  `Claude Code${reason ? `, which does not start here: ${reason}` : ''}`,
  () => {
    describeExample('examples/claude-agent', [
      '  mcp__files__list {}',
      '  mcp__files__read {"name":"agent.mjs"}',
      '  mcp__files__read {"name":"agent.mjs"}',
      '  mcp__files__read refused: Step budget exhausted: 3/3',
      '  mcp__files__read refused: Step budget exhausted: 3/3',
      'I have read 2 of them.',
      'The run ended after 3 calls.',
    ]);
  },
);
