// @ts-check
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEnforcement, createSupervisor } from 'phasegate';
import { replay } from 'phasegate/replay';

/** @typedef {import('./task.mjs').Task} Task */

const RUNS = 200;
const CALLS = 100;
const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });

/** What a replayed call costs, with the reading of its file. @returns {Promise<Task[]>} */
export async function replayTasks() {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const events = await recording();
  const calls = events.filter(({ type }) => !type.startsWith('phase.'));
  return [
    task('replay', 'replay a recorded call', join(folder, 'calls.jsonl'), calls),
    task('replay all', 'replay one of a recording with its phases', join(folder, 'all.jsonl'), events),
  ];
}

/** @param {string} id @param {string} name @param {string} file @param {readonly object[]} events @returns {Task} */
function task(id, name, file, events) {
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const run = async () => {
    let calls = 0;
    for await (const report of replay({ files: [file], enforcement: { supervisor } }))
      calls += report.stepCount;
    if (calls !== RUNS * CALLS) throw new Error(`${calls} calls were replayed`);
  };
  return { id, name, per: RUNS * CALLS, run };
}

async function recording() {
  const enforcement = createEnforcement({ supervisor });
  /** @type {import('phasegate').PhasegateEvent[]} */
  const events = [];
  enforcement.on((event) => void events.push(event));
  for (let r = 0; r < RUNS; r++) {
    await enforcement.withRun(async (run) => {
      for (let c = 0; c < CALLS; c++) await run.callTool('search', { q: `words ${c}`, limit: 10 }, () => c);
    });
  }
  return events;
}
