import type { Enforcement, Run } from 'phasegate';
import type { GateOptions } from 'phasegate/ai-sdk';

/** A call that the model asks for. */
export interface Ask {
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** What the model says in a turn: its answer, or the calls that it asks for at once. */
export type Turn = string | readonly Ask[];

/**
 * The model: what it says in each turn of a conversation. The ids of its calls are `asked-1`, `asked-2`, … in each
 * conversation.
 *
 * @param turn From 0, in this conversation: how often the model has spoken before.
 * @param told The results of tool calls that the conversation holds, as texts, oldest first.
 */
export type Script = (turn: number, told: readonly string[]) => Turn;

/** What a body is handed besides its arguments. */
export interface BodyContext {
  /** As the framework hands it to bodies; `undefined` where it has none. */
  readonly signal: AbortSignal | undefined;
  /** Calls another tool of the agent, as a body of this framework would. It rejects when the framework's tool does. */
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
}

export type Body = (args: Readonly<Record<string, unknown>>, context: BodyContext) => unknown;

/** What an agent is built of. */
export interface Setup {
  readonly enforcement: Enforcement;
  readonly options: GateOptions;
  readonly script: Script;
  readonly bodies: Readonly<Record<string, Body>>;
}

/** What an agent is asked with. */
export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
}

/** An agent of the framework, with a scripted model, tools and invocations under enforcement. */
export interface Agent {
  /** How many turns the model has had, in all conversations. */
  readonly turns: number;
  /** What the conversation held, as results of calls, when the model had its latest turn. */
  readonly told: readonly string[];
  /** Asks the agent. @returns Its answer. */
  ask(options?: AskOptions): Promise<string>;
  /** Asks the agent for a stream. @returns The stream: pieces of the answer and whatever else the framework puts there. */
  stream(options?: AskOptions): Promise<AsyncIterable<unknown>>;
}

/** A tool call from outside of the model's loop, made as the framework makes it. */
export type CallTool = (tool: string) => Promise<unknown>;

/** One way to use one framework, as the scenarios drive it. */
export interface Harness {
  /** As the test report names it. */
  readonly name: string;
  /** Whether agents can be asked for streams. */
  readonly streams: boolean;
  /**
   * The deadline of a scenario that has one, in milliseconds: long enough for the first body to have started.
   * @default 50
   */
  readonly deadlineMs?: number;
  /** Builds an agent. */
  agent(setup: Setup): Agent;
  /** Makes code a run, through the adapter, and hands it the tools as they are under enforcement. */
  inRun(
    setup: Pick<Setup, 'enforcement' | 'options' | 'bodies'>,
    code: (run: Run, call: CallTool) => Promise<void>,
  ): Promise<void>;
}
