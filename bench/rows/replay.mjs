// @ts-check
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSupervisor } from 'phasegate';
import { replay } from 'phasegate/replay';

const RUNS = 200;
const CALLS = 100;

/** What a replayed call costs, with the reading of its file. @returns {import('./calls.mjs').Task} */
export function replayTask() {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const file = join(folder, 'runs.jsonl');
  writeFileSync(file, recording());
  const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
  const run = async () => {
    let calls = 0;
    for await (const report of replay({ files: [file], enforcement: { supervisor } }))
      calls += report.stepCount;
    if (calls !== RUNS * CALLS) throw new Error(`${calls} calls were replayed`);
  };
  return { name: 'replay a recorded call', per: RUNS * CALLS, run };
}

function recording() {
  const events = [];
  for (let r = 0; r < RUNS; r++) {
    const run = `run-${r}`;
    events.push({ type: 'run.started', run });
    for (let c = 0; c < CALLS; c++) {
      const call = `call-${c}`;
      events.push({ type: 'call.started', run, call, tool: 'search', args: { q: `words ${c}`, limit: 10 } });
      events.push({ type: 'call.ended', run, call, ok: true });
    }
    events.push({ type: 'run.ended', run });
  }
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}
