import { basename } from 'node:path';
import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { OpenCalls } from '../open-calls.ts';

/**
 * Telemetry of OpenClaw: `tool.start` and `tool.end` lines. All sessions of an agent are one run, but for those of its
 * sub-agents: each is a child run of the `sessions_spawn` call whose task it was begun with. Calls have no ids: an end is
 * that of the oldest open call of its tool in its session.
 */
export const openclaw: TraceFormat = {
  name: 'openclaw',
  description: 'telemetry of OpenClaw (JSON lines)',
  detect(value): Likelihood {
    const line = fieldsOf<keyof Line | 'channel'>(value);
    if (typeof line?.type !== 'string' || !TYPE.test(line.type)) return 'no';
    return typeof line.sessionKey === 'string' || typeof line.channel === 'string' ? 'yes' : 'no';
  },
  async *read(source) {
    const file = new TelemetryFile(basename(source.name));
    for await (const items of source.values()) yield readItems(items, (item) => file.read(item));
    yield file.end();
  },
};

const TYPE = /^(message\.(in|out|sending)|(agent|tool|session)\.(start|end)|llm\.\w+)$/;

type Line = Fields<'type' | 'toolName' | 'params' | 'success' | 'sessionKey' | 'agentId' | 'prompt'>;

interface Session {
  readonly run: string;
  /** Tells its calls from those of other sessions of the run. */
  readonly index: number;
  readonly open: OpenCalls;
}

// A call that may have begun a sub-agent.
interface Spawn {
  readonly run: string;
  readonly call: string;
  readonly task: unknown;
}

// A sub-agent begins soon after the call that spawned it.
const SPAWN_MEMORY = 1000;

class TelemetryFile {
  readonly #fileName: string;
  readonly #runs = new Set<string>();
  readonly #sessions = new Map<string, Session>();
  readonly #spawns: Spawn[] = [];

  constructor(fileName: string) {
    this.#fileName = fileName;
  }

  *read({ value, line: lineNumber }: JsonValue): Generator<TraceEvent> {
    const line: Line = fieldsOf<keyof Line>(value) ?? {};
    const key = nameOf(line.sessionKey);
    if (key === undefined || typeof line.type !== 'string') return;
    if (!line.type.startsWith('agent.') && !line.type.startsWith('tool.')) return;
    const session = this.#sessions.get(key) ?? (yield* this.#begin(key, line));
    const tool = nameOf(line.toolName);
    if (line.type === 'tool.start') {
      if (tool === undefined) {
        yield {
          type: 'fault',
          message: 'tool.start without "toolName", the name of the tool',
          line: lineNumber,
        };
        return;
      }
      const { run } = session;
      const call = `${session.index}.${session.open.add(undefined, tool)}`;
      if (tool === 'sessions_spawn') this.#remember({ run, call, task: fieldsOf<'task'>(line.params)?.task });
      yield { type: 'call.started', run, call, tool, args: line.params, line: lineNumber };
    } else if (line.type === 'tool.end') {
      const call = session.open.take(undefined, tool);
      if (call === undefined) return;
      const ok = typeof line.success === 'boolean' ? line.success : null;
      yield { type: 'call.ended', run: session.run, call: `${session.index}.${call}`, ok };
    }
  }

  *end(): Generator<TraceEvent> {
    if (this.#runs.size === 0) yield { type: 'run.started', run: '', name: this.#fileName };
  }

  *#begin(key: string, line: Line): Generator<TraceEvent, Session> {
    const isSubAgent = key.includes(':subagent:');
    const spawn = isSubAgent ? this.#spawnOf(line.prompt) : undefined;
    const run = isSubAgent ? `session ${key}` : `agent ${nameOf(line.agentId) ?? ''}`;
    const session = { run, index: this.#sessions.size, open: new OpenCalls() };
    this.#sessions.set(key, session);
    if (spawn !== undefined) {
      yield { type: 'run.started', run, parent: { run: spawn.run, call: spawn.call } };
    } else if (!this.#runs.has(run)) {
      // A file of one run is what people call that run.
      yield { type: 'run.started', run, name: this.#runs.size === 0 ? this.#fileName : run };
      this.#runs.add(run);
    }
    return session;
  }

  #remember(spawn: Spawn): void {
    this.#spawns.push(spawn);
    if (this.#spawns.length > SPAWN_MEMORY) this.#spawns.shift();
  }

  // The call with the task that the sub-agent is told, or the oldest that has begun none.
  #spawnOf(prompt: unknown): Spawn | undefined {
    const told = this.#spawns.findIndex(
      ({ task }) => typeof task === 'string' && typeof prompt === 'string' && prompt.includes(task),
    );
    return this.#spawns.splice(Math.max(told, 0), 1)[0];
  }
}
