import { describeExample } from '../suite/example.ts';

describeExample('examples/mastra', [
  '  agent-reader {"prompt":"Read it all"}',
  '    list {}',
  '    read {"name":"agent.mjs"}',
  '    read {"name":"agent.mjs"}',
  '    read refused: Step budget exhausted: 3/4 (parent run) (1 call in flight)',
  '    read refused: Step budget exhausted: 3/4 (parent run) (1 call in flight)',
  '    ended after 3 calls',
  '  ended after 4 calls',
  'It was read.',
]);
