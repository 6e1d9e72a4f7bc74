import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { replay, type TraceEvent } from '../../src/replay/index.ts';
import { openTrace } from '../../src/replay/open-file.ts';
import { readEvents } from '../../src/replay/read-events.ts';
import { callsIn } from './support.ts';

// Recorded runs of other people's agents, beside the project where they are at hand.
const traces = fileURLToPath(new URL('../../../shared/traces', import.meta.url));
const folders = [
  'tau-bench-airline',
  'agentrx-tau-retail',
  'livemcpbench',
  'cline-anthropic',
  'claude-code',
  'tau2-bench',
  'inspect-logs',
  'langfuse-traces',
  'otel-agentevals',
  'otel-strands',
  'openclaw-telemetry',
  'pydantic-ai-cassettes',
];

interface Expected {
  readonly run: string;
  readonly source: string;
  readonly file: string;
  readonly calls: number;
  readonly errors: number;
  readonly subAgentCalls: number;
}
interface ExpectedCall {
  readonly run: string;
  readonly agent?: string;
  readonly tool: string;
  readonly status: 'ok' | 'error' | 'none';
}

function jsonl<T>(name: string): T[] {
  const text = readFileSync(join(traces, name), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

async function recordings(folder: string): Promise<string[]> {
  const names = await readdir(join(traces, folder));
  return names.filter((name) => name !== 'MANIFEST.json').map((name) => join(traces, folder, name));
}

function nameIn(folder: string, file: string, run: string): string {
  const name = `${folder}/${basename(file)}`;
  return run === basename(file) ? name : `${name}#${run}`;
}

describe.skipIf(!existsSync(traces))('recorded runs of other agents', { timeout: 60_000 }, () => {
  const expected = existsSync(traces) ? jsonl<Expected>('expected.jsonl') : [];
  const expectedCalls = existsSync(traces) ? jsonl<ExpectedCall>('events.jsonl') : [];

  it.each(folders)('of %s hold the calls and failures that were counted elsewhere', async (folder) => {
    const found: Record<string, string> = {};
    for await (const { file, run, calls, failed } of replay({ files: await recordings(folder) })) {
      found[nameIn(folder, file, run)] = `${calls} calls, ${failed} failed`;
    }
    const counted = expected.filter(({ source }) => source === folder);
    expect(counted.length).toBeGreaterThan(0);
    expect(found).toEqual(
      Object.fromEntries(
        counted.map(({ run, errors, ...count }) => [run, `${callsOfAgent(count)} calls, ${errors} failed`]),
      ),
    );
  });

  it.each(folders)('of %s hold the same calls, in the same order, with the same ends', async (folder) => {
    const found: Record<string, string[]> = {};
    for (const file of await recordings(folder)) {
      for (const [run, events] of await eventsByRun(file)) found[nameIn(folder, file, run)] = callsIn(events);
    }
    const counted = expectedCalls.filter(
      ({ run, agent }) => run.startsWith(`${folder}/`) && agent !== 'user-sim',
    );
    const byRun = new Map<string, ExpectedCall[]>();
    for (const call of counted) byRun.set(call.run, [...(byRun.get(call.run) ?? []), call]);
    for (const [run, calls] of byRun)
      expect(found[run], run).toEqual(calls.map(({ tool, status }) => `${tool} ${status}`));
    expect(Object.values(found).flat().length).toBe(counted.length);
  });
});

// In tau2-bench the simulated user has tools too. What it calls was counted there, as calls of a sub-agent; it is no call
// of the agent, whose budget a replay is about, and is passed over here.
function callsOfAgent({
  source,
  calls,
  subAgentCalls,
}: Pick<Expected, 'source' | 'calls' | 'subAgentCalls'>): number {
  return source === 'tau2-bench' ? calls - subAgentCalls : calls;
}

// The events of each outermost run, with those of its child runs.
async function eventsByRun(file: string): Promise<Map<string, TraceEvent[]>> {
  const runs = new Map<string, TraceEvent[]>();
  const rootOf = new Map<string, string>();
  for await (const events of readEvents(openTrace(file), undefined)) {
    for (const event of events) {
      if (event.type === 'fault') throw new Error(event.message);
      if (event.type === 'run.started') {
        const root = event.parent === undefined ? (event.name ?? event.run) : rootOf.get(event.parent.run);
        rootOf.set(event.run, root ?? '');
      }
      const root = rootOf.get(event.run) ?? event.run;
      runs.set(root, [...(runs.get(root) ?? []), event]);
    }
  }
  return runs;
}
