import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { SupervisorOptions } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/langchain';
import { World } from '../suite/world.ts';
import { toolOf } from './harness.ts';

type Body = Parameters<typeof toolOf>[1];

/** Where the tests are set of what only LangChain has: tools whose bodies are counted, and agents that are asked to go. */
export class Stage {
  readonly world: World;

  constructor(rules: SupervisorOptions = {}) {
    this.world = new World(rules);
  }

  gate(options?: GateOptions): Gate {
    return supervise(this.world.enforcement, options);
  }

  /** A tool whose bodies are counted when they start. */
  tool(name: string, body: Body): DynamicStructuredTool {
    return toolOf(name, (args, config) => {
      this.world.started.push(name);
      return body(args, config);
    });
  }

  /** How each call ended: whether well, by name. */
  get endings(): string[] {
    return this.world.of('call.ended').map(({ tool, ok }) => `${tool} ${ok ? 'ended' : 'failed'}`);
  }
}

/** What an agent is asked with. */
export const GO = { messages: [{ role: 'user', content: 'Go' }] };

/** A conversation that a checkpointer keeps. */
export function thread(id = 'thread'): { configurable: { thread_id: string } } {
  return { configurable: { thread_id: id } };
}

interface State {
  readonly messages: readonly { readonly type: string; readonly text: string; readonly status?: string }[];
}

/** What the model was told of its calls: the text of each result, and whether it is an error. */
export function told(state: unknown): string[] {
  return (state as State).messages
    .filter(({ type }) => type === 'tool')
    .map(({ text, status }) => (status === 'error' ? `✗ ${text}` : text));
}
