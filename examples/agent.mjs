// @ts-check
/**
 * The agent: a model, its tools, and a loop. What phasegate does here is in `execute`: `run.callTool` asks whether the
 * call is legal now and runs its body only then.
 */
import { findToolExecutionBlocked } from 'phasegate';

/**
 * @typedef {{ id: string, type: 'function', function: { name: string, arguments: string } }} ToolCall
 * @typedef {object} Message A message as the chat completions API knows it.
 * @property {'system' | 'user' | 'assistant' | 'tool'} role
 * @property {string | null} content
 * @property {ToolCall[]} [tool_calls]
 * @property {string} [tool_call_id]
 */

/**
 * @callback Model Answers a conversation, or asks for tool calls.
 * @param {readonly Message[]} messages
 * @param {{ tools: readonly import('./tools.mjs').Tool[], mayCall: boolean, signal: AbortSignal }} options
 * @returns {Promise<Message>}
 */

const SYSTEM =
  'You answer questions about the repository that your tools can see. Be brief, and say what you could not find out.';

/**
 * @param {string} question
 * @param {object} options
 * @param {Model} options.model
 * @param {readonly import('./tools.mjs').Tool[]} options.tools
 * @param {import('phasegate').Run} options.run What the calls belong to.
 * @param {(message: Message) => void} [options.onMessage] Sees each message of the model, and each result.
 * @returns {Promise<string>} The answer.
 */
export async function ask(question, { model, tools, run, onMessage = () => {} }) {
  /** @type {Message[]} */
  const messages = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: question },
  ];
  let mayCall = true;
  for (;;) {
    const reply = await model(messages, { tools, mayCall, signal: run.signal });
    messages.push(reply);
    onMessage(reply);
    const calls = reply.tool_calls ?? [];
    if (calls.length === 0 || !mayCall) return reply.content ?? '';

    // All calls of a turn at once. They take turns: the second waits until the first has ended.
    const outcomes = await Promise.all(calls.map((call) => execute(call, tools, run)));
    for (const { message } of outcomes) {
      messages.push(message);
      onMessage(message);
    }
    // A model that was refused has been told what to do. If no call is legal any more, it is asked for its answer only.
    if (outcomes.some(({ refused }) => refused)) mayCall = run.validateActionPhase().allowed;
  }
}

/**
 * Runs one tool call. Whatever becomes of it, the model is told.
 *
 * @param {ToolCall} call
 * @param {readonly import('./tools.mjs').Tool[]} tools
 * @param {import('phasegate').Run} run
 * @returns {Promise<{ message: Message, refused: boolean }>}
 */
async function execute(call, tools, run) {
  const { name } = call.function;
  const args = parse(call.function.arguments);
  /** @param {string} content @param {boolean} refused */
  const outcome = (content, refused) => ({
    message: /** @type {Message} */ ({ role: 'tool', tool_call_id: call.id, content }),
    refused,
  });
  try {
    const result = await run.callTool(
      name,
      args,
      (ctx) => {
        // Looked up in here, so that a tool that the model made up is a failed call, and those are bounded as well.
        const tool = tools.find((candidate) => candidate.name === name);
        if (tool === undefined) throw new Error(`There is no tool ${name}`);
        if (typeof args !== 'object' || args === null) {
          throw new Error(`The arguments of ${name} are no JSON object`);
        }
        return tool.run(/** @type {import('./tools.mjs').Args} */ (args), ctx);
      },
      { callId: call.id },
    );
    return outcome(JSON.stringify(result), false);
  } catch (error) {
    const blocked = findToolExecutionBlocked(error);
    if (blocked === undefined) {
      return outcome(`Error: ${error instanceof Error ? error.message : error}`, false);
    }
    // The message says why, the hint what is legal instead: both are worded for a model to read.
    return outcome(`Refused: ${blocked.message}. ${blocked.hint}`, true);
  }
}

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
