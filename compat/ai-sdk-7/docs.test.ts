import { readFileSync } from 'node:fs';
import { describeDocs } from '../suite/docs.ts';

// Asks for three pages, and says what it was told.
const MODEL = `
import { MockLanguageModelV4 } from 'ai/test';
import { modelOf } from './scripted.ts';

const pages = [1, 2, 3].map((page) => ({ tool: 'read', args: { page } }));
const model = modelOf({ Model: MockLanguageModelV4 }, (turn, told) =>
  turn === 0 ? pages : \`I have read: \${told.join(', ')}\`,
) as MockLanguageModelV4;
export { model };
`;

describeDocs('phasegate/ai-sdk', {
  'model.ts': MODEL,
  'scripted.ts': readFileSync('../suite/ai-sdk/model.ts', 'utf8'),
});
