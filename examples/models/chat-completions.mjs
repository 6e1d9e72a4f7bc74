// @ts-check
/**
 * A model behind any endpoint that speaks chat completions, as OpenAI, vLLM, Ollama, llama.cpp and others do.
 */

/**
 * The endpoint that the environment names: OPENAI_MODEL, with OPENAI_API_KEY or OPENAI_BASE_URL or both.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ url: string, model: string, key: string | undefined } | undefined} Undefined when it names none.
 */
export function endpointFrom(env) {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: base, OPENAI_MODEL: model } = env;
  if (!model || !(key || base)) return undefined;
  const url = `${(base || 'https://api.openai.com/v1').replace(/\/+$/, '')}/chat/completions`;
  return { url, model, key: key || undefined };
}

/**
 * @param {NonNullable<ReturnType<typeof endpointFrom>>} endpoint
 * @returns {import('../agent.mjs').Model}
 */
export function chatCompletionsModel({ url, model, key }) {
  let replies = 0;
  return async (messages, { tools, mayCall, signal }) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model,
        messages,
        tools: tools.map(({ name, description, parameters }) => ({
          type: 'function',
          function: { name, description, parameters },
        })),
        tool_choice: mayCall ? 'auto' : 'none',
      }),
      signal,
    }).catch((error) => {
      if (signal.aborted) throw error;
      // What fetch itself says is no more than that it failed.
      const why = error.cause?.message || error.cause?.code || error.message;
      throw new Error(`${url} cannot be reached: ${why}`, { cause: error });
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
    replies += 1;
    return replyIn(text, url, replies);
  };
}

/**
 * The reply in an answer of the endpoint, of which no more is taken than is known to be there.
 *
 * @param {string} text
 * @param {string} url
 * @param {number} turn
 * @returns {import('../agent.mjs').Message}
 */
function replyIn(text, url, turn) {
  let message;
  try {
    message = JSON.parse(text).choices[0].message;
  } catch {
    message = undefined;
  }
  if (typeof message !== 'object' || message === null) {
    throw new Error(`${url} answered no chat completion, but: ${text.slice(0, 500)}`);
  }
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return {
    role: 'assistant',
    content: typeof message.content === 'string' ? message.content : null,
    ...(calls.length > 0 && {
      tool_calls: calls.map((/** @type {any} */ call, /** @type {number} */ i) => ({
        // Some servers give no ids; the results have to name one all the same.
        id: String(call?.id || `call_${turn}_${i + 1}`),
        type: 'function',
        function: {
          name: String(call?.function?.name || 'unnamed'),
          arguments: String(call?.function?.arguments || '{}'),
        },
      })),
    }),
  };
}
