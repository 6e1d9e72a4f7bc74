// @ts-check
import { median } from '../median.mjs';
import { ARGS, tool } from '../rows/task.mjs';

// Named in variables: types are checked where this folder's packages are not installed.
const LANGCHAIN = /** @type {string} */ ('langchain');
const CHAT_MODELS = /** @type {string} */ ('@langchain/core/language_models/chat_models');
const MESSAGES = /** @type {string} */ ('@langchain/core/messages');
const ZOD = /** @type {string} */ ('zod');

const CALLS = 20;

/**
 * Tool calls of a LangChain agent whose model answers at once, with the middleware that limits them and without.
 *
 * @param {number} rounds How often each of the two is run.
 * @returns {Promise<import('../report/row.mjs').TimedRow[]>}
 */
export async function langchainRows(rounds) {
  // Nothing of this is to be sent anywhere.
  for (const name of ['LANGSMITH_TRACING', 'LANGCHAIN_TRACING_V2']) process.env[name] = 'false';
  const { toolCallLimitMiddleware } = await import(LANGCHAIN);
  // The limit is never reached: one call more than the model asks for.
  const limited = await agentWith([toolCallLimitMiddleware({ runLimit: CALLS + 1 })]);
  const plain = await agentWith([]);
  for (let i = 0; i < Math.ceil(rounds / 5); i++) {
    await time(limited);
    await time(plain);
  }
  const [withLimit, without] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  // By turns, so that what else the machine does hits both alike.
  for (let i = 0; i < rounds; i++) {
    withLimit.push(await time(limited));
    without.push(await time(plain));
  }
  const whole = (median(withLimit) * 1e6) / CALLS;
  return [
    {
      id: 'langchain middleware',
      name: 'LangChain: what toolCallLimitMiddleware adds',
      ns: whole - (median(without) * 1e6) / CALLS,
    },
    { id: 'langchain agent', name: 'LangChain: a tool call of an agent with it', ns: whole },
  ];
}

/** @typedef {() => Promise<number>} Agent Runs it once, and says how many calls it made. */

/** @param {readonly unknown[]} middleware @returns {Promise<Agent>} */
async function agentWith(middleware) {
  const { createAgent, tool: toolOf } = await import(LANGCHAIN);
  const { HumanMessage } = await import(MESSAGES);
  const { z } = await import(ZOD);
  let made = 0;
  const search = toolOf(
    (/** @type {typeof ARGS} */ args) => {
      made += 1;
      return String(tool(args));
    },
    { name: 'search', description: 'Finds pages', schema: z.object({ q: z.string() }) },
  );
  const agent = createAgent({ model: await scriptedModel(), tools: [search], middleware });
  return async () => {
    made = 0;
    await agent.invoke({ messages: [new HumanMessage('Search')] }, { recursionLimit: 10 * CALLS });
    return made;
  };
}

/** A chat model that asks for one call a turn until all have been made, and then answers. */
async function scriptedModel() {
  const { BaseChatModel } = await import(CHAT_MODELS);
  const { AIMessage } = await import(MESSAGES);
  class ScriptedModel extends BaseChatModel {
    constructor() {
      super({});
    }

    _llmType() {
      return 'scripted';
    }

    bindTools() {
      return this;
    }

    /** @param {readonly { getType(): string }[]} messages */
    async _generate(messages) {
      const made = messages.filter((message) => message.getType() === 'tool').length;
      const call = { type: 'tool_call', id: `call-${made}`, name: 'search', args: ARGS };
      const message =
        made < CALLS ? new AIMessage({ content: '', tool_calls: [call] }) : new AIMessage('Found');
      return { generations: [{ text: '', message }] };
    }
  }
  return new ScriptedModel();
}

/** @param {Agent} agent @returns {Promise<number>} In milliseconds. */
async function time(agent) {
  const start = performance.now();
  const made = await agent();
  const end = performance.now();
  if (made !== CALLS) throw new Error(`The agent made ${made} calls instead of ${CALLS}`);
  return end - start;
}
