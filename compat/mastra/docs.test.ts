import { readFileSync } from 'node:fs';
import { describeDocs } from '../suite/docs.ts';

// Asks for three pages, and says what it was told.
const MODEL = `
import type { MastraModelConfig } from '@mastra/core/llm';
import { mastraModel } from './mastra.ts';

const pages = [1, 2, 3].map((page) => ({ tool: 'read', args: { page } }));
export const model: MastraModelConfig = mastraModel((turn, told) =>
  turn === 0 ? pages : \`I have read: \${told.join(', ')}\`,
);
`;

describeDocs('phasegate/mastra', {
  'model.ts': MODEL,
  'mastra.ts': readFileSync('model.ts', 'utf8').replaceAll('../suite/ai-sdk/model.ts', './scripted.ts'),
  'scripted.ts': readFileSync('../suite/ai-sdk/model.ts', 'utf8'),
});
