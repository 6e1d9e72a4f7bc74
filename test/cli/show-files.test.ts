import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import { showFiles } from '../../src/cli/inspect/show-files.ts';
import { Progress } from '../../src/cli/progress.ts';
import type { Config } from '../../src/config.ts';
import { createEnforcement } from '../../src/index.ts';
import { RunStore } from '../../src/inspect/store.ts';
import { type FileFault, FORMATS, type TraceStream } from '../../src/replay/index.ts';
import { eventsOfRun } from '../inspect/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'phasegate-show-'));
const path = (name: string) => join(folder, name);
const lines = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');

function write(name: string, events: readonly object[], more = ''): string {
  writeFileSync(path(name), lines(events) + more);
  return path(name);
}

/** Files that are shown, and followed until the test ends. */
async function shown(
  files: readonly (string | TraceStream)[],
  { config = {}, format }: { config?: Config; format?: string } = {},
) {
  const store = new RunStore(2 ** 24);
  const faults: FileFault[] = [];
  const abort = new AbortController();
  const silent = { write: () => true, once: () => undefined };
  const io = { stdin: [] as never, stdout: silent, stderr: silent, env: {}, signal: abort.signal };
  const follow = await showFiles(files, {
    store,
    config,
    format: FORMATS.find(({ name }) => name === format),
    signal: abort.signal,
    progress: new Progress(io, undefined),
    onFault: (fault) => faults.push(fault),
  });
  const followed = follow();
  const end = async () => {
    abort.abort();
    await followed;
  };
  onTestFinished(end);
  return { faults, store, end, runs: () => [...store.runs.values()].map((run) => run.summary()) };
}

describe('a recording of ours', { timeout: 30_000 }, () => {
  it('that is still empty is followed as soon as it is written to', async () => {
    const log = write('empty.jsonl', []);
    const { faults, runs } = await shown([log]);
    appendFileSync(log, lines(eventsOfRun('begun')));
    await vi.waitFor(() => expect(runs()).toMatchObject([{ run: 'begun', clock: 'time' }]), 5_000);
    expect(faults).toEqual([]);
  });

  it('is shown as it was recorded, and followed as it grows', async () => {
    const file = write(
      'grows.jsonl',
      eventsOfRun('grows').slice(0, 2),
      '{"type":"call.ended","run":"grows",',
    );
    const { runs, faults } = await shown([file]);
    expect(runs()).toMatchObject([
      { run: 'grows', source: file, live: true, inFlight: 1, startedAt: 1, clock: 'time' },
    ]);
    appendFileSync(file, '"time":5,"call":"c","seq":1,"tool":"search","ok":true,"late":false}\n');
    appendFileSync(file, lines(eventsOfRun('grows').slice(3)));
    await vi.waitFor(() => expect(runs()).toMatchObject([{ live: false, stepCount: 1, calls: 1 }]), 10_000);
    expect(faults).toEqual([]);
  });

  it('is read to its last line, whether or not that has an end', async () => {
    const [first, ...rest] = eventsOfRun('whole');
    const { runs, store } = await shown([write('whole.jsonl', [first as object], JSON.stringify(rest[0]))]);
    expect(runs()).toMatchObject([{ run: 'whole', inFlight: 1 }]);
    appendFileSync(path('whole.jsonl'), `\n${lines(rest.slice(1))}`);
    await vi.waitFor(() => expect(runs()).toMatchObject([{ live: false, calls: 1 }]), 10_000);
    expect(store.dropped.faultCount).toBe(0);
  });

  it('is followed when its log is rotated, with what was written last before that', async () => {
    const file = write('rotated.jsonl', eventsOfRun('first').slice(0, 2));
    const { runs } = await shown([file]);
    appendFileSync(file, lines(eventsOfRun('first').slice(2)));
    renameSync(file, path('rotated.1.jsonl'));
    const opened = { type: 'log.opened', time: 1 };
    write('rotated.jsonl', [opened, ...eventsOfRun('second')]);
    await vi.waitFor(() => expect(runs().map(({ run }) => run)).toEqual(['first', 'second']), 10_000);
    expect(runs()).toMatchObject([{ live: false }, { live: false }]);
  });

  it('is read anew when it was cut, and waited for when it is gone', async () => {
    const file = write('cut.jsonl', eventsOfRun('before'));
    const { runs } = await shown([file]);
    writeFileSync(file, lines(eventsOfRun('a').slice(0, 1)));
    await vi.waitFor(() => expect(runs().map(({ run }) => run)).toEqual(['before', 'a']), 10_000);
    rmSync(file);
    await new Promise((resolve) => setTimeout(resolve, 600));
    write('cut.jsonl', eventsOfRun('after'));
    await vi.waitFor(() => expect(runs().map(({ run }) => run)).toContain('after'), 10_000);
  });

  it('is let go of when nothing was written to it for a while, and taken up again', async () => {
    const file = write('idle.jsonl', eventsOfRun('idle').slice(0, 1));
    const past = statSync(file).mtimeMs / 1000 - 3_600;
    utimesSync(file, past, past);
    const { runs } = await shown([file]);
    appendFileSync(file, lines(eventsOfRun('idle').slice(1)));
    await vi.waitFor(() => expect(runs()).toMatchObject([{ run: 'idle', live: false }]), 10_000);
  });

  it('may be an audit log, with hashes and in several files', async () => {
    const file = path('audit.jsonl');
    const log = auditLog(file, { chain: true, maxBytes: 4_000 });
    const enforcement = createEnforcement();
    enforcement.on(log);
    await enforcement.withRun(
      async (run) => {
        for (let call = 0; call < 10; call++) await run.callTool('search', {}, () => 1);
      },
      { id: 'audited' },
    );
    await log.close();
    // Oldest first, as the command line sorts what a glob stands for.
    const parts = readdirSync(folder)
      .filter((name) => /^audit\.\d+\.jsonl$/.test(name))
      .sort();
    expect(parts.length).toBeGreaterThan(1);
    const { runs, faults } = await shown([...parts.map(path), file]);
    expect(runs()).toMatchObject([{ run: 'audited', calls: 10, stepCount: 10, live: false }]);
    expect(faults).toEqual([]);
  });

  it('counts what an audit log says is missing of it', async () => {
    const gap = { type: 'log.gap', time: 1, since: 0, lost: 7 };
    const { store, faults } = await shown([
      write('gap.jsonl', [gap, ...eventsOfRun('r'), { ...gap, lost: 2 }]),
    ]);
    expect(store.dropped.lost).toEqual([{ source: path('gap.jsonl'), events: 9 }]);
    expect(faults).toEqual([]);
  });

  it('is read over faults, and their lines are told', async () => {
    const file = write('faulty.jsonl', eventsOfRun('one'), 'nonsense\n\n{"type":"call.started"}\n');
    appendFileSync(file, lines(eventsOfRun('two')));
    const { runs, faults } = await shown([file, path('nowhere.jsonl')]);
    expect(runs()).toHaveLength(2);
    expect(faults).toEqual([
      { file, line: 5, message: 'this is no event: expected a JSON object with a "type" and a "run"' },
      { file, line: 7, message: 'this is no event: expected a JSON object with a "type" and a "run"' },
      { file: path('nowhere.jsonl'), line: null, message: 'there is no such file' },
    ]);
  });

  it('may be a stream, which is shown as it comes', async () => {
    const events = eventsOfRun('piped');
    let more = (_: unknown) => {};
    const pause = new Promise((resolve) => {
      more = resolve;
    });
    async function* bytes() {
      yield Buffer.from(lines(events.slice(0, 2)));
      await pause;
      yield Buffer.from(lines(events.slice(2)).trimEnd());
    }
    const { runs } = await shown([{ name: 'stdin', bytes: bytes() }]);
    await vi.waitFor(() => expect(runs()).toMatchObject([{ source: 'stdin', inFlight: 1 }]), 10_000);
    more(undefined);
    await vi.waitFor(() => expect(runs()).toMatchObject([{ live: false, stepCount: 1 }]), 10_000);
  });
});

describe('a recording of another format', () => {
  const call = (id: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'search', arguments: '{}' } }],
  });
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'found' });
  const messages = ['a', 'b', 'c'].flatMap((id) => [call(id), result(id)]);
  const chat = { messages: [{ role: 'user', content: 'hi' }, ...messages] };
  const config = { agentProfile: { resourceBudget: { maxSteps: 2 } } };

  it('is put to the configuration, call by call, and its decisions are shown', async () => {
    const { runs, faults } = await shown([write('chat.jsonl', [chat])], { config });
    expect(runs()).toMatchObject([
      {
        source: path('chat.jsonl'),
        clock: 'order',
        startedAt: 0,
        calls: 3,
        stepCount: 2,
        maxSteps: 2,
        refused: 1,
        live: false,
        lastRefusal: { code: 'step-budget', message: 'Step budget exhausted: 2/2', tool: 'search' },
      },
    ]);
    expect(faults).toEqual([]);
  });

  it('may be a stream', async () => {
    async function* bytes() {
      yield Buffer.from(lines([chat]));
    }
    const { runs } = await shown([{ name: 'stdin', bytes: bytes() }], { config });
    await vi.waitFor(() => expect(runs()).toMatchObject([{ source: 'stdin', refused: 1 }]), 10_000);
  });

  it('is so if a format is given, whatever it holds', async () => {
    const { runs, faults } = await shown([write('own.jsonl', eventsOfRun('own'))], { format: 'openai' });
    expect(runs()).toEqual([]);
    expect(faults.length).toBeGreaterThan(0);
  });
});
