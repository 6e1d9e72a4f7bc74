import type {
  FileFault,
  JsonItem,
  ReplayOptions,
  RunReport,
  TraceEvent,
  TraceFormat,
} from '../../src/replay/index.ts';
import { replay } from '../../src/replay/index.ts';
import { JsonSplitter } from '../../src/replay/json-values.ts';
import type { TraceStream } from '../../src/replay/open-file.ts';
import { readEvents } from '../../src/replay/read-events.ts';

/** A recording in memory, which comes in pieces of that many bytes. */
export function stream(content: string | Uint8Array, { name = 'memory', piece = 1 << 16 } = {}): TraceStream {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return {
    name,
    bytes: (async function* () {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    })(),
  };
}

/** JSON lines of these values. */
export function lines(...values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

/** The items of a text that comes in pieces of that many characters. */
export function itemsOf(text: string, piece = text.length, maxLength?: number): JsonItem[] {
  const splitter = new JsonSplitter(maxLength);
  const items: JsonItem[] = [];
  for (let at = 0; at < text.length; at += piece) items.push(...splitter.push(text.slice(at, at + piece)));
  return [...items, ...splitter.end()];
}

/** The events of a recording, in the format that its content shows, or in that one. */
export async function eventsOf(
  content: string | Uint8Array,
  format?: TraceFormat,
  options: { name?: string; piece?: number } = {},
): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  for await (const batch of readEvents(stream(content, options), format)) events.push(...batch);
  return events;
}

/** The calls of a recording in their order, each as its tool and how it ended. */
export async function callsOf(content: string | Uint8Array, format?: TraceFormat): Promise<string[]> {
  return callsIn(await eventsOf(content, format));
}

/** The calls among events in their order, each as its tool and how it ended. */
export function callsIn(events: readonly TraceEvent[]): string[] {
  const calls: { tool: string; status: string }[] = [];
  const open = new Map<string, { tool: string; status: string }>();
  for (const event of events) {
    if (event.type === 'call.started') {
      const call = { tool: event.tool, status: 'none' };
      calls.push(call);
      open.set(`${event.run}/${event.call}`, call);
    } else if (event.type === 'call.ended') {
      const call = open.get(`${event.run}/${event.call}`);
      if (call !== undefined && event.ok !== null) call.status = event.ok ? 'ok' : 'error';
    }
  }
  return calls.map(({ tool, status }) => `${tool} ${status}`);
}

/** What is wrong with a recording. */
export async function faultsOf(content: string | Uint8Array, format?: TraceFormat): Promise<string[]> {
  const events = await eventsOf(content, format);
  return events.flatMap((event) =>
    event.type === 'fault' ? [`${event.line ?? '-'}: ${event.message}`] : [],
  );
}

/** The reports of recordings, and what could not be read of them. */
export async function replayed(
  content: string | Uint8Array | readonly TraceStream[],
  options: Partial<ReplayOptions> = {},
): Promise<{ reports: RunReport[]; faults: FileFault[] }> {
  const files = typeof content === 'string' || content instanceof Uint8Array ? [stream(content)] : content;
  const reports: RunReport[] = [];
  const faults: FileFault[] = [];
  for await (const report of replay({ files, onFault: (fault) => faults.push(fault), ...options }))
    reports.push(report);
  return { reports, faults };
}

/** A format that tells of these events, and the file for it to read. */
export function scripted(events: readonly TraceEvent[]): { files: TraceStream[]; format: TraceFormat } {
  const format: TraceFormat = {
    name: 'scripted',
    description: 'events of a test',
    async *read() {
      yield events;
    },
  };
  return { files: [stream('x')], format };
}

/** The one report of these events. */
export async function replayEvents(
  events: readonly TraceEvent[],
  options: Partial<ReplayOptions> = {},
): Promise<RunReport> {
  const { reports, faults } = await replayed([], { ...scripted(events), ...options });
  const [report] = reports;
  if (report === undefined || reports.length > 1 || faults.length > 0) {
    throw new Error(`expected one report and no fault: ${JSON.stringify({ reports, faults })}`);
  }
  return report;
}

/** Budgets as an enforcement takes them. */
export function budgets(maxSteps: number, maxLoopsPerPhase: number, parallel?: 'serialize' | 'concurrent') {
  const resourceBudget = { maxSteps, maxLoopsPerPhase };
  return { config: { agentProfile: { resourceBudget }, dfa: { parallel } } };
}

/** Events of a run, written shortly: `+a` calls tool a (key a), `+b<a` from inside a, `-a` ends it well, `!a` badly, `?a` without a result. */
export function script(text: string, run = 'r'): TraceEvent[] {
  return text
    .split(/\s+/)
    .filter(Boolean)
    .map((word): TraceEvent => {
      const [call = '', parent] = word.slice(1).split('<');
      if (word.startsWith('+')) return { type: 'call.started', run, call, tool: call, parent };
      return { type: 'call.ended', run, call, ok: word.startsWith('?') ? null : word.startsWith('-') };
    });
}
