import { describeExample } from '../suite/example.ts';

describeExample('examples/openai-agents', [
  '  research {"input":"Read."}',
  '  list {}',
  '  read {"name":"agent.mjs"}',
  '  read {"name":"agent.mjs"}',
  '  read {"name":"agent.mjs"}',
  '  read refused: Step budget exhausted: 4/5 (parent run) (1 call in flight)',
  'A run ended after 4 calls.',
  'A run ended after 5 calls.',
  'It says: I have read 3 files.',
]);
