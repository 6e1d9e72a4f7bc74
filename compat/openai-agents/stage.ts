import { Agent, type FunctionTool, type RunContext, run, tool } from '@openai/agents';
import { type Gate, type GateOptions, supervise } from 'phasegate/openai-agents';
import type { Ask, Script } from '../suite/harness.ts';
import { World } from '../suite/world.ts';
import { type Conversation, modelOf } from './model.ts';

/** Whatever its context and its output. */
// biome-ignore lint/suspicious/noExplicitAny: as the SDK says it.
export type AnyAgent = Agent<any, any>;

// biome-ignore lint/suspicious/noExplicitAny: as the SDK says it.
export type AnyTool = FunctionTool<any, any, any>;

/** What a body is handed by the SDK. */
export type Details = { readonly signal?: AbortSignal } | undefined;

type Execute = (args: unknown, context: RunContext | undefined, details: Details) => unknown;

/** As the SDK has it: a schema that takes all. */
const PARAMETERS = {
  type: 'object' as const,
  properties: {},
  required: [],
  additionalProperties: true as const,
};

/** Where the tests are set of what only the OpenAI Agents SDK has: agents with a budget of three calls. */
export class Stage {
  readonly world = new World({ maxSteps: 3 });
  readonly conversation: Conversation = { turns: 0, told: [] };
  readonly gate: Gate;
  /** `run`, of which each invocation is a run. */
  readonly run: typeof run;

  constructor(options?: GateOptions) {
    this.gate = supervise(this.world.enforcement, options);
    this.run = this.gate.agent(run);
  }

  /** What makes a tool of a body, whose starts are counted. */
  options(name: string, execute: Execute = () => 'found') {
    return {
      name,
      description: name,
      parameters: PARAMETERS,
      strict: false as const,
      execute: (args: unknown, context: RunContext | undefined, details: Details) => {
        this.world.started.push(name);
        return execute(args, context, details);
      },
    };
  }

  tool(name: string, execute?: Execute, more: object = {}): AnyTool {
    return this.gate.tool(tool)({ ...this.options(name, execute), ...more });
  }

  /** A tool that was made without the gate. */
  made(name: string, execute?: Execute): AnyTool {
    return tool(this.options(name, execute));
  }

  /** An agent whose conversation is the one of the stage. */
  agent(script: Script, more: object = {}): AnyAgent {
    return new Agent({ name: 'main', model: modelOf(script, this.conversation), ...more });
  }

  /** An agent with a conversation of its own. */
  other(name: string, script: Script, more: object = {}): AnyAgent {
    return new Agent({ name, model: modelOf(script), ...more });
  }
}

/** A call of a tool that takes an agent's input. */
export const ask = (name: string): Ask => ({ tool: name, args: { input: 'Go' } });
