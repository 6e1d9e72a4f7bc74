import { readFileSync } from 'node:fs';
import { describeDocs } from '../suite/docs.ts';

// Asks for three pages, and says what it was told.
const MODEL = `
import { ScriptedModel } from './scripted.ts';

const pages = [1, 2, 3].map((page) => ({ tool: 'read', args: { page } }));
const model = new ScriptedModel((turn, told) => (turn === 0 ? pages : \`I have read: \${told.join(', ')}\`));
export { model };
`;

describeDocs('phasegate/langchain', {
  'model.ts': MODEL,
  'scripted.ts': readFileSync('model.ts', 'utf8'),
});
