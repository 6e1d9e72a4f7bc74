import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { auditLog } from '../../src/audit/index.ts';
import { canonicalJson } from '../../src/canonical-json.ts';
import { createEnforcement, createSupervisor, type SupervisorOptions } from '../../src/index.ts';
import { Driver } from '../../src/replay/driver.ts';
import { readEvents } from '../../src/replay/read-events.ts';
import { stream } from '../replay/support.ts';

export type Record = { readonly type: string; readonly [name: string]: unknown };

/** A path in a folder of its own. */
export function newPath(name = 'runs.jsonl'): string {
  return join(mkdtempSync(join(tmpdir(), 'phasegate-audit-')), name);
}

/** A stream that keeps what it is given. */
export function sink(): { stream: Writable; text(): string } {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(pieces).toString() };
}

export function recordsIn(text: string): Record[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record);
}

export function recordsOf(path: string): Record[] {
  return recordsIn(readFileSync(path, 'utf8'));
}

/** What a log says of itself, and what it says of its records, is left out: what an enforcement told is what is left. */
export function eventsIn(text: string): Record[] {
  return recordsIn(text)
    .filter(({ type }) => !type.startsWith('log.'))
    .map(({ n, prev, hash, ...event }) => event as Record);
}

/** Replays a log under these rules, and logs the replay. */
export async function replayedLog(
  text: string,
  {
    phases,
    maxSteps,
    maxLoopsPerPhase,
    transitions,
    onToolError,
    onBudgetExhausted,
    onRejected,
  }: SupervisorOptions,
  parallel: 'serialize' | 'concurrent',
): Promise<{ text: string; faults: string[] }> {
  const enforcement = createEnforcement({
    supervisor: createSupervisor({
      phases,
      maxSteps,
      maxLoopsPerPhase,
      transitions,
      onToolError,
      onBudgetExhausted,
      onRejected,
    }),
    parallel,
    waitTimeoutMs: Number.POSITIVE_INFINITY,
  });
  const again = sink();
  enforcement.on(auditLog(again.stream));
  const faults: string[] = [];
  const onFault = ({ message, line }: { message: string; line: number | null }) =>
    faults.push(`${line}: ${message}`);
  const place = (line: number) => ({ file: 'log', line });
  const driver = new Driver({ enforcement, parallel, checks: false, all: true, file: 'log', place, onFault });
  for await (const events of readEvents(stream(text), undefined)) await driver.push(events);
  await driver.end();
  return { text: again.text(), faults };
}

const TIMES = ['time', 'waitedMs', 'decisionMs'];
// Refused for time, or as the run was about to end: not by a decision that could be made again.
const UNDECIDED = ['wait-timeout', 'observer-failed'];

/** What was decided, in the order in which it was, without when. */
export function decisionsIn(text: string): string[] {
  const ended = new Set<unknown>();
  const open = new Set<unknown>();
  return eventsIn(text).flatMap((event) => {
    if (event.type === 'run.ended') ended.add(event['run']);
    if (event.type === 'call.waiting') return [];
    if (event.type === 'call.refused') {
      if (UNDECIDED.includes(String(event['code']))) return [];
      if (event['code'] === 'run-completed' && !ended.has(event['run'])) return [];
    }
    // Calls have other numbers, as those that were not decided are not asked for again.
    const rest: { [name: string]: unknown } = { ...event };
    for (const name of ['seq', ...TIMES]) delete rest[name];
    if (event.type === 'call.started') open.add(event['call']);
    if (event.type === 'call.ended') open.delete(event['call']);
    // From the body of which call that has ended it came is no matter any more.
    const maker = event.type === 'run.started' ? 'call' : 'parent';
    if (maker in rest && !open.has(rest[maker])) rest[maker] = null;
    return [canonicalJson(rest)];
  });
}
