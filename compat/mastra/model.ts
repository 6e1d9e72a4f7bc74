import type { MastraModelConfig } from '@mastra/core/llm';
import { type Conversation, modelOf } from '../suite/ai-sdk/model.ts';
import type { Script } from '../suite/harness.ts';

/** Mastra takes models of the AI SDK; what makes an object one of those is all that the test model of `ai` would add. */
class Model {
  readonly specificationVersion = 'v3';
  readonly provider = 'scripted';
  readonly modelId = 'scripted';
  readonly supportedUrls = {};

  constructor(options: object) {
    Object.assign(this, options);
  }
}

/** A model that says what the script says, and remembers what it was told. */
export function mastraModel(script: Script, conversation?: Conversation): MastraModelConfig {
  return modelOf({ Model }, script, conversation) as MastraModelConfig;
}
