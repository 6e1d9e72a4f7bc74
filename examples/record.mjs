// @ts-check
/**
 * Makes the bundled recordings anew: `npm run build && node examples/record.mjs`.
 * They are runs of the same agent, with the same tools and budgets as `npm start`, and with other scripts.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createEnforcement, loadConfig } from 'phasegate';
import { auditLog } from 'phasegate/audit';
import { ask } from './agent.mjs';
import { scriptedModel } from './models/scripted.mjs';
import { openRepository } from './repository.mjs';
import { failingTool, withinTheBudget } from './scripts.mjs';
import { createTools } from './tools.mjs';

const here = import.meta.dirname;
const folder = process.argv[2] ?? join(here, 'recordings');
const tools = createTools(openRepository(join(here, '..')));
const config = await loadConfig(join(here, 'phasegate.yaml'));

await mkdir(folder, { recursive: true });
for (const { name, question, script } of [failingTool, withinTheBudget]) {
  const enforcement = createEnforcement({ config });
  const file = join(folder, `${name}.jsonl`);
  await rm(file, { force: true }); // A log that is there would go on.
  const recording = auditLog(file);
  enforcement.on(recording);
  const model = scriptedModel(script);
  const answer = await enforcement.withRun((run) => ask(question, { model, tools, run }), { id: name });
  await recording.close();
  process.stdout.write(`${file}\n  ${question}\n  ${answer}\n`);
}
