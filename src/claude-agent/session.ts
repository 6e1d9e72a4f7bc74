import type { AgentOptions, Gate } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import type { Run } from '../run.ts';

/** What hooks are handed: of each event what is looked at. */
export interface HookInput {
  readonly tool_name: string;
  readonly tool_input: unknown;
  readonly tool_use_id: string;
  readonly error?: string;
  readonly tool_calls?: readonly { readonly tool_use_id: string }[];
  /** Of a subagent, in all that happens inside of it. */
  readonly agent_id?: string;
  readonly agent_type?: string;
}

/** A subagent: its run, and the call that started it. */
interface Agent {
  readonly run: Run;
  readonly call: Call;
  /** It came to its end by itself, and may be asked to go on. */
  stopped: boolean;
}

/** The tool that starts subagents, by its names. */
const LAUNCHERS = ['Agent', 'Task'];

/** The sessions of a gate, by their runs. */
export class Sessions {
  readonly #sessions = new WeakMap<Run, Session>();

  add(run: Run, session: Session): void {
    this.#sessions.set(run, session);
  }

  of(run: Run | null): Session | undefined {
    return run === null ? undefined : this.#sessions.get(run);
  }
}

/** A query: the runs of its agents, and their calls, as Claude Code tells of them. */
export class Session {
  readonly #gate: Gate;
  readonly #run: Run;
  readonly #options: AgentOptions;
  readonly #stopAgent: (id: string) => void;
  /** In flight, by their ids. */
  readonly #calls = new Map<string, Call>();
  /** Those whose body has not begun, as far as it runs in this process. */
  readonly #asked = new WeakSet<Call>();
  readonly #agents = new Map<string, Agent>();
  /** Calls that start a subagent which has not started. */
  #launches: { readonly call: Call; readonly type: unknown }[] = [];
  /** What is the same in all calls of one turn: of the agent by itself, and of its subagents. */
  readonly #turns = new Map<string | undefined, object>();

  /** @param stopAgent Stops a subagent, whose run has been aborted. */
  constructor(gate: Gate, run: Run, options: AgentOptions, stopAgent: (id: string) => void) {
    this.#gate = gate;
    this.#run = run;
    this.#options = options;
    this.#stopAgent = stopAgent;
  }

  /** @returns Why the call is refused, in words for the model; nothing when it is admitted. */
  async admit(input: HookInput, signal: AbortSignal | undefined): Promise<string | undefined> {
    const { tool_name: tool, tool_input: args, tool_use_id: callId, agent_id: agent } = input;
    const run = this.#runOf(input);
    const turn = this.#turns.get(agent) ?? this.nextTurn(agent);
    const answer = await this.#gate.admit({ run, tool, args, callId, turn }, (text) => text);
    if ('shown' in answer) return answer.shown;
    const { call } = answer;
    if (signal?.aborted || run.state.finished) {
      run.failCall(call);
      return `Cannot call ${tool}: nobody waits for the answer any more`;
    }
    this.#calls.set(callId, call);
    this.#asked.add(call);
    const type = (args as { readonly subagent_type?: unknown } | null)?.subagent_type;
    if (LAUNCHERS.includes(tool)) this.#launches.push({ call, type });
    return undefined;
  }

  /** @returns The call in flight of this id, if its body has not begun: it begins now. */
  begin(callId: unknown): Call | undefined {
    const call = this.#calls.get(callId as string);
    if (call === undefined || call.run.state.finished || !this.#asked.delete(call)) return undefined;
    return call;
  }

  /** A call ended: well, or with an error. */
  end(callId: string, failure?: { readonly error: unknown }): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    this.#calls.delete(callId);
    if (failure === undefined) call.run.afterCall(call);
    else call.run.failCall(call, failure.error);
  }

  /** The model is about to have its next turn. */
  nextTurn(agent: string | undefined): object {
    const turn = {};
    this.#turns.set(agent, turn);
    return turn;
  }

  startAgent({ agent_id: id, agent_type: type }: HookInput): void {
    if (id === undefined) return;
    try {
      this.#beginAgent(id, type);
    } catch {
      // It nests too deep: nothing can keep it from starting, but each of its calls is told so.
    }
  }

  stopAgent({ agent_id: id }: HookInput): void {
    const agent = id === undefined ? undefined : this.#agents.get(id);
    if (agent === undefined || agent.run.state.finished) return;
    agent.stopped = true;
    agent.run.finish();
  }

  #runOf({ agent_id: id, agent_type: type }: HookInput): Run {
    if (id === undefined) return this.#run;
    const agent = this.#agents.get(id);
    return agent !== undefined && !agent.stopped ? agent.run : this.#beginAgent(id, type);
  }

  #beginAgent(id: string, type: unknown): Run {
    const call = this.#agents.get(id)?.call ?? this.#launchOf(type) ?? [...this.#calls.values()].at(-1);
    // Nothing is known that it could be the child of, so that it has to share the budget of all.
    if (call === undefined) return this.#run;
    const { run } = this.#gate.begin({ ...this.#options, parent: call });
    this.#agents.set(id, { run, call, stopped: false });
    run.signal.addEventListener('abort', () => {
      if (!this.#run.state.finished) this.#stopAgent(id);
    });
    return run;
  }

  /** The call that a subagent of this type was started by: the first, for they start in the order in which they were asked for. */
  #launchOf(type: unknown): Call | undefined {
    const launch = this.#launches.find((candidate) => candidate.type === type) ?? this.#launches[0];
    this.#launches = this.#launches.filter((other) => other !== launch);
    return launch?.call;
  }
}
