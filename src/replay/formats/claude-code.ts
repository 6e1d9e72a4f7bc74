import { basename } from 'node:path';
import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, listOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { OpenCalls } from '../open-calls.ts';
import { toolResults, toolUses } from './anthropic.ts';

/**
 * A session of Claude Code: one JSON object a line, each with a message as the Anthropic API has it. A session is a run.
 * Lines that share `message.id` are one turn. `isSidechain` lines are of a sub-agent: a chain that begins with the prompt
 * of the call that started it, and whose run is a child run of that call.
 */
export const claudeCode: TraceFormat = {
  name: 'claude-code',
  description: 'session files of Claude Code (JSON lines)',
  detect(value): Likelihood {
    const line = fieldsOf<'type' | 'message' | 'sessionId' | 'isSidechain'>(value);
    if (line === undefined || typeof line.type !== 'string') return 'no';
    if (line.type === 'summary') return 'leafUuid' in line ? 'yes' : 'no';
    if (line.type === 'file-history-snapshot') return 'snapshot' in line ? 'yes' : 'no';
    if (line.type !== 'user' && line.type !== 'assistant')
      return typeof line.sessionId === 'string' ? 'maybe' : 'no';
    const named = typeof line.sessionId === 'string' || typeof line.isSidechain === 'boolean';
    return named && fieldsOf(line.message) !== undefined ? 'yes' : 'no';
  },
  async *read(source) {
    const file = new SessionFile(basename(source.name));
    for await (const items of source.values()) yield readItems(items, (item) => file.read(item));
    yield file.end();
  },
};

type Line = Fields<'type' | 'message' | 'sessionId' | 'isSidechain' | 'agentId' | 'uuid' | 'parentUuid'>;

// The main agent of a session, or a sub-agent.
interface Agent {
  readonly run: string;
  /** Whether its run was told of. */
  begun: boolean;
  readonly open: OpenCalls;
  /** What its open calls may have begun a sub-agent with, by the key of the call. */
  readonly prompts: Map<string, string>;
  /** The sub-agents that run inside of its open calls, by the key of the call. */
  readonly subAgents: Map<string, Agent>;
  /** The message whose lines are being read. */
  turn: string | undefined;
  /** The latest lines of its chain, which the next line names one of. */
  readonly chain: string[];
}

// A line continues the last line of its chain, or one of the few before it.
const CHAIN_MEMORY = 1000;

class SessionFile {
  readonly #fileName: string;
  readonly #main = new Map<string, Agent>();
  readonly #agents = new Set<Agent>();
  readonly #byLine = new Map<string, Agent>();
  readonly #byAgentId = new Map<string, Agent>();
  #runs = 0;

  constructor(fileName: string) {
    this.#fileName = fileName;
  }

  *read({ value, line: lineNumber }: JsonValue): Generator<TraceEvent> {
    const line: Line = fieldsOf<keyof Line>(value) ?? {};
    const message = fieldsOf<'id' | 'content'>(line.message);
    if (message === undefined || (line.type !== 'user' && line.type !== 'assistant')) return;
    const agent =
      line.isSidechain === true ? yield* this.#subAgent(line, message.content) : yield* this.#mainAgent(line);
    if (line.type === 'assistant') {
      yield* this.#turn(agent, nameOf(message.id));
      yield* this.#calls(agent, message.content, lineNumber);
    } else {
      for (const { id, ok } of toolResults(message.content)) {
        const call = agent.open.take(id, undefined);
        if (call !== undefined) yield* this.#endCall(agent, call, ok);
      }
    }
  }

  *end(): Generator<TraceEvent> {
    if (this.#runs === 0) yield this.#begin(this.#newAgent(''), '');
  }

  *#mainAgent(line: Line): Generator<TraceEvent, Agent> {
    const session = nameOf(line.sessionId) ?? '';
    const known = this.#main.get(session);
    if (known !== undefined) return known;
    const agent = this.#newAgent(`session ${session}`);
    this.#main.set(session, agent);
    yield this.#begin(agent, session);
    return agent;
  }

  *#subAgent(line: Line, content: unknown): Generator<TraceEvent, Agent> {
    const agentId = nameOf(line.agentId);
    const uuid = nameOf(line.uuid);
    const parentUuid = nameOf(line.parentUuid);
    const agent =
      (agentId === undefined ? undefined : this.#byAgentId.get(agentId)) ??
      (parentUuid === undefined ? undefined : this.#byLine.get(parentUuid)) ??
      (yield* this.#beginSubAgent(agentId ?? uuid ?? '', promptOf(content)));
    if (agentId !== undefined) this.#byAgentId.set(agentId, agent);
    if (uuid !== undefined) {
      this.#byLine.set(uuid, agent);
      agent.chain.push(uuid);
      if (agent.chain.length > CHAIN_MEMORY) this.#byLine.delete(agent.chain.shift() ?? '');
    }
    return agent;
  }

  *#beginSubAgent(id: string, prompt: string | undefined): Generator<TraceEvent, Agent> {
    const agent = this.#newAgent(`agent ${id}`);
    for (const maker of this.#agents) {
      for (const [call, asked] of maker.prompts) {
        if (asked !== prompt || maker.subAgents.has(call)) continue;
        maker.subAgents.set(call, agent);
        agent.begun = true;
        yield { type: 'run.started', run: agent.run, parent: { run: maker.run, call } };
        return agent;
      }
    }
    // No open call of this file made it: it was recorded in a file of its own, or by a call before the file begins. Then
    // it is a run of its own, from its first call on.
    return agent;
  }

  #newAgent(run: string): Agent {
    const agent: Agent = {
      run,
      begun: false,
      open: new OpenCalls(),
      prompts: new Map(),
      subAgents: new Map(),
      turn: undefined,
      chain: [],
    };
    this.#agents.add(agent);
    return agent;
  }

  // An outermost run begins. A file of one run is what people call that run.
  #begin(agent: Agent, name: string): TraceEvent {
    agent.begun = true;
    this.#runs += 1;
    return { type: 'run.started', run: agent.run, name: this.#runs === 1 ? this.#fileName : name };
  }

  #forget(agent: Agent): void {
    this.#agents.delete(agent);
    for (const uuid of agent.chain) this.#byLine.delete(uuid);
    for (const [id, known] of this.#byAgentId) if (known === agent) this.#byAgentId.delete(id);
    for (const subAgent of agent.subAgents.values()) this.#forget(subAgent);
  }

  *#turn(agent: Agent, turn: string | undefined): Generator<TraceEvent> {
    if (turn === undefined || turn === agent.turn) return;
    agent.turn = turn;
    // The next turn begins when the model has seen all results that there are.
    for (const call of agent.open.takeAll()) yield* this.#endCall(agent, call, null);
  }

  *#calls(agent: Agent, content: unknown, line: number): Generator<TraceEvent> {
    for (const { id, tool, args } of toolUses(content)) {
      if (tool === undefined) {
        yield { type: 'fault', message: 'a tool_use block without the name of the tool', line };
        continue;
      }
      if (!agent.begun) yield this.#begin(agent, agent.run);
      const call = agent.open.add(id, tool);
      const prompt = fieldsOf<'prompt'>(args)?.prompt;
      if (typeof prompt === 'string') agent.prompts.set(call, prompt);
      yield { type: 'call.started', run: agent.run, call, callId: id, tool, args, line };
    }
  }

  *#endCall(agent: Agent, call: string, ok: boolean | null): Generator<TraceEvent> {
    const subAgent = agent.subAgents.get(call);
    agent.subAgents.delete(call);
    agent.prompts.delete(call);
    if (subAgent !== undefined) {
      this.#forget(subAgent);
      yield { type: 'run.ended', run: subAgent.run };
    }
    yield { type: 'call.ended', run: agent.run, call, ok };
  }
}

function promptOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  const texts = listOf(content).map((block) => fieldsOf<'text'>(block)?.text);
  return texts.length === 0 ? undefined : texts.filter((text) => typeof text === 'string').join('');
}
