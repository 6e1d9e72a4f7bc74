import { describeExample } from '../suite/example.ts';

describeExample('examples/mcp', [
  '  list {}',
  '  read {"name":"agent.mjs"}',
  '  read {"name":"agent.mjs"}',
  '  read refused: Step budget exhausted: 3/3',
  '  read refused: Step budget exhausted: 3/3',
  'The run ended after 3 calls.',
  'I have read 2 of them.',
  // The same session of the server, whose budget is spent now.
  '  list {}',
  '  read {"name":"agent.mjs"}',
  '  read {"name":"agent.mjs"}',
  /^ {2}read failed: Step budget exhausted: 5\/5\. All tool calls/,
  'The run ended after 2 calls.',
  'I have read 1 of them.',
]);
