import { describeExample } from '../suite/example.ts';

describeExample('examples/langchain', [
  '  list {}',
  '  read {"name":"agent.mjs"}',
  '  read {"name":"agent.mjs"}',
  '  read refused: Step budget exhausted: 3/3',
  '  read refused: Step budget exhausted: 3/3',
  'The run ended after 3 calls.',
  'I have read 2 of them.',
]);
