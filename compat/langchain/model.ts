import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { Script, Turn } from '../suite/harness.ts';

/** What the scenarios ask of the conversations of a model. */
export interface Conversation {
  turns: number;
  told: readonly string[];
}

/** A model that says what the script says, and remembers what it was told. */
export class ScriptedModel extends BaseChatModel {
  readonly #script: Script;
  readonly #conversation: Conversation;

  constructor(script: Script, conversation: Conversation = { turns: 0, told: [] }) {
    super({});
    this.#script = script;
    this.#conversation = conversation;
  }

  _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = this.#say(messages);
    return { generations: [{ message, text: message.text }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { content, tool_calls = [], text } = this.#say(messages);
    const message = new AIMessageChunk({
      content,
      tool_call_chunks: tool_calls.map(({ name, args, id }, index) => ({
        name,
        args: JSON.stringify(args),
        index,
        ...(id !== undefined && { id }),
      })),
    });
    yield new ChatGenerationChunk({ message, text });
    await runManager?.handleLLMNewToken(text);
  }

  #say(messages: readonly BaseMessage[]): AIMessage {
    const told = messages.filter((message) => message.type === 'tool').map((message) => message.text);
    this.#conversation.turns += 1;
    this.#conversation.told = told;
    const turn = messages.filter((message) => message.type === 'ai').length;
    return messageOf(this.#script(turn, told), told.length);
  }
}

function messageOf(turn: Turn, asked: number): AIMessage {
  if (typeof turn === 'string') return new AIMessage(turn);
  return new AIMessage({
    content: '',
    tool_calls: turn.map(({ tool, args = {} }, index) => ({
      type: 'tool_call',
      name: tool,
      args,
      id: `asked-${asked + index + 1}`,
    })),
  });
}
