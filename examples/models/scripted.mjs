// @ts-check
/**
 * A model that needs no network: it follows a script. A script is a generator. It yields the tool calls of a turn, is
 * handed their results, and returns the answer, made from what the tools found.
 *
 * @typedef {{ tool: string, args: object }} ScriptedCall
 * @typedef {() => Generator<ScriptedCall[], string, string[]>} Script
 */

/**
 * @param {Script} script
 * @returns {import('../agent.mjs').Model}
 */
export function scriptedModel(script) {
  const turns = script();
  let calls = 0;
  return async (messages) => {
    const lastReply = messages.findLastIndex(({ role }) => role === 'assistant');
    const results = messages.slice(lastReply + 1).filter(({ role }) => role === 'tool');
    const { done, value } = turns.next(results.map(({ content }) => content ?? ''));
    if (done) return { role: 'assistant', content: value };
    return {
      role: 'assistant',
      content: null,
      tool_calls: value.map(({ tool, args }) => {
        calls += 1;
        return {
          id: `call_${calls}`,
          type: 'function',
          function: { name: tool, arguments: JSON.stringify(args) },
        };
      }),
    };
  };
}
