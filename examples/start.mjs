// @ts-check
/**
 * `npm start`: an agent answers a question about this repository with tools that phasegate supervises, and then its run
 * is replayed from what was recorded of it, together with two older runs.
 *
 * Without more, a scripted model plays the model. With OPENAI_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL or both, any
 * endpoint that speaks chat completions does, and `npm start -- "your question"` asks it.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createEnforcement, loadConfig } from 'phasegate';
import { auditLog } from 'phasegate/audit';
import { inspectTo } from 'phasegate/inspect';
import { replay } from 'phasegate/replay';
import { ask } from './agent.mjs';
import { chatCompletionsModel, endpointFrom } from './models/chat-completions.mjs';
import { scriptedModel } from './models/scripted.mjs';
import { openRepository } from './repository.mjs';
import { beyondTheBudget } from './scripts.mjs';
import { createView, paint, print, tell } from './terminal.mjs';
import { createTools } from './tools.mjs';

const here = import.meta.dirname;
const root = join(here, '..');

// —— 1. The agent: a model, its tools, and the budgets that hold them ——

const endpoint = endpointFrom(process.env);
const model = endpoint === undefined ? scriptedModel(beyondTheBudget.script) : chatCompletionsModel(endpoint);
const question = process.argv[2] ?? beyondTheBudget.question;
const tools = createTools(openRepository(root));

const config = await loadConfig(join(here, 'phasegate.yaml'));
const enforcement = createEnforcement({ config });
const { maxSteps, maxLoopsPerPhase } = enforcement.supervisor.rules;

if (endpoint === undefined && process.argv[2] !== undefined) {
  print(
    'The scripted model knows one question: its own. To ask another, set OPENAI_MODEL, and OPENAI_API_KEY or',
  );
  print('OPENAI_BASE_URL or both.');
  process.exit(2);
}

print();
print(`${paint('bold', 'An agent')} held to ${maxSteps} steps and ${maxLoopsPerPhase} loops a phase`);
print(
  `  model     ${endpoint === undefined ? 'scripted, no network' : `${endpoint.model} at ${endpoint.url}`}`,
);
print(`  question  ${question}`);
print();

// —— 2. One run, shown as it goes and recorded ——

const recording = join(await mkdtemp(join(tmpdir(), 'phasegate-')), 'run.jsonl');
const log = auditLog(recording);
enforcement.on(log);
enforcement.on(createView({ maxSteps, maxLoopsPerPhase }));
// And on a page, where `phasegate inspect` serves one.
const { PHASEGATE_INSPECT: page } = process.env;
if (page) {
  try {
    enforcement.on(inspectTo());
  } catch (error) {
    print(error instanceof Error ? error.message : String(error));
    process.exit(2);
  }
}

/** @param {import('./agent.mjs').Message} message */
function onMessage({ role, content }) {
  if (role === 'tool' && content?.startsWith('Refused: ')) tell(`The model is told: “${content}”`);
}

let failed = false;
try {
  const answer = await enforcement.withRun((run) => ask(question, { model, tools, run, onMessage }), {
    timeoutMs: 120_000,
  });
  print();
  print(paint('bold', 'Answer'));
  for (const line of answer.split('\n')) print(`  ${line}`);
} catch (error) {
  failed = true;
  print();
  print(paint('red', `The run failed: ${error instanceof Error ? error.message : error}`));
} finally {
  await log.close();
}

// —— 3. Replay: what would these budgets have said to recorded runs? ——

const older = ['failing-tool.jsonl', 'within-the-budget.jsonl'].map((name) => join(here, 'recordings', name));
print();
print(paint('bold', 'Replay under the same budgets'));
for await (const report of replay({ files: [recording, ...older], enforcement: { config } })) {
  const { file, calls, firstRefusal } = report;
  const verdict =
    firstRefusal === null
      ? paint('green', 'allowed')
      : `${paint('red', 'refused')} at call ${firstRefusal.seq}, ${firstRefusal.tool}: ${firstRefusal.message}`;
  print(`  ${nameOf(file)}`);
  print(`    ${calls} ${calls === 1 ? 'call' : 'calls'}, ${report.failed} failed: ${verdict}`);
}
print();
print('The same on the command line:');
print(`  npx phasegate replay ${recording} --config ${nameOf(join(here, 'phasegate.yaml'))}`);
print();
print('See the run on a page:');
if (page) print(`  ${page}`);
else {
  print(`  npx phasegate inspect ${recording}`);
  print(
    'Or live: npx phasegate inspect prints an address; set PHASEGATE_INSPECT to it, and npm start again.',
  );
}
print();
process.exitCode = failed ? 1 : 0;

/** @param {string} path */
function nameOf(path) {
  const inside = relative(process.cwd(), path);
  return inside.startsWith('..') ? path : inside;
}
