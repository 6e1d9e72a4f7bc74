import { type Gate, type GateOptions, supervise } from 'phasegate/ai-sdk';
import type { Script } from '../harness.ts';
import { World } from '../world.ts';
import { modelOf, type Version } from './model.ts';

/** What the AI SDK hands to a body besides its input. */
export interface BodyOptions {
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
}

type Body = (input: Record<string, unknown>, options: BodyOptions) => unknown;

/** Where the tests are set of what only the AI SDK has: agents with a budget of three calls, and a tool, `search`. */
export class Stage {
  readonly version: Version;
  readonly world = new World({ maxSteps: 3 });

  constructor(version: Version) {
    this.version = version;
  }

  gate(options?: GateOptions): Gate {
    return supervise(this.world.enforcement, options);
  }

  /** A tool whose bodies are counted. It is a function of the kind that the body is. */
  tool(execute: Body) {
    const { ai } = this.version;
    const { started } = this.world;
    const counted = new Proxy(execute, {
      apply(body, self, args) {
        started.push('search');
        return Reflect.apply(body, self, args);
      },
    });
    return ai['tool']({ inputSchema: ai['jsonSchema']({ type: 'object' }), execute: counted });
  }

  model(script: Script): object {
    return modelOf(this.version, script);
  }

  /** For `generateText` and `streamText`. */
  settings(script: Script, search: Body) {
    const { stepCountIs } = this.version;
    return {
      model: this.model(script),
      tools: { search: this.tool(search) },
      prompt: 'Go',
      stopWhen: stepCountIs(20),
    };
  }

  /** A result of `streamText`. */
  stream(script: Script, search: Body, options?: GateOptions) {
    return this.gate(options).agent(this.version.ai['streamText'])(this.settings(script, search));
  }
}
