import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { chatCompletionsModel, endpointFrom } from '../../examples/models/chat-completions.mjs';
import { type Outcome, runNode } from '../docs/node.ts';
import { createWorkspace, type Workspace } from '../docs/workspace.ts';

interface Request {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly tool_choice: string;
    readonly tools: readonly { readonly type: string; readonly function: { readonly name: string } }[];
    readonly messages: readonly {
      readonly role: string;
      readonly content: string;
      readonly tool_call_id?: string;
    }[];
  };
}

type Answer = { readonly status?: number; readonly text?: string; readonly message?: object };

// Whole programs are run, also on a machine that has other things to do.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workspace: Workspace;
let server: Server | undefined;

beforeAll(() => {
  workspace = createWorkspace();
});
afterAll(() => workspace.remove());
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** Serves chat completions: `answers` is asked for each turn, from 0. */
async function serve(answers: (turn: number) => Answer): Promise<{ url: string; requests: Request[] }> {
  const requests: Request[] = [];
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const turn = requests.length;
    requests.push({
      path: request.url,
      authorization: request.headers.authorization,
      body: JSON.parse(text),
    });
    const { status = 200, text: raw, message } = answers(turn);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(raw ?? JSON.stringify({ choices: [{ message: { role: 'assistant', ...message } }] }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests };
}

function start(url: string, ...args: string[]): Promise<Outcome> {
  const env = {
    ...workspace.env,
    OPENAI_BASE_URL: `${url}/`,
    OPENAI_API_KEY: 'key-of-the-test',
    OPENAI_MODEL: 'model-of-the-test',
  };
  return runNode(['examples/start.mjs', ...args], workspace.path, env);
}

function call(id: string | undefined, name: string, args: string) {
  return { id, type: 'function', function: { name, arguments: args } };
}

describe('the example with an endpoint that speaks chat completions', () => {
  it('holds a model that does all kinds of things, and gives its answer', async () => {
    const turns: object[] = [
      // Two at once, one of them without an id.
      {
        content: 'I look.',
        tool_calls: [
          call('a', 'read_file', '{"path":"README.md"}'),
          call(undefined, 'calculate', '{"expression":"6*7"}'),
        ],
      },
      // No JSON, no such tool: two failures in a row, and the loop budget is 2.
      { content: null, tool_calls: [call('b', 'calculate', '{"expression":')] },
      { content: null, tool_calls: [call('c', 'send_email', '{}')] },
      { content: null, tool_calls: [call('c', 'read_file', '{"path":"../../etc/passwd"}')] },
      { content: null, tool_calls: [call('d', 'calculate', '{"expression":"1+1"}')] },
      // Asked for its answer only, it asks for a tool all the same.
      { content: 'The answer of the test.', tool_calls: [call('e', 'calculate', '{"expression":"2+2"}')] },
    ];
    const { url, requests } = await serve((turn) => ({ message: turns[turn] ?? { content: 'too late' } }));

    const { code, stdout, stderr } = await start(url, 'A question of the test?');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`model-of-the-test at ${url}/chat/completions`);
    expect(stdout).toContain('Answer\n  The answer of the test.\n');
    expect(stdout).not.toContain('key-of-the-test');

    expect(requests).toHaveLength(turns.length);
    const [first] = requests;
    expect(first).toMatchObject({ path: '/v1/chat/completions', authorization: 'Bearer key-of-the-test' });
    expect(first?.body).toMatchObject({ model: 'model-of-the-test', tool_choice: 'auto' });
    expect(first?.body.messages.at(-1)).toEqual({ role: 'user', content: 'A question of the test?' });
    expect(first?.body.tools.map((tool) => tool.function.name)).toEqual([
      'search_files',
      'read_file',
      'measure_files',
      'calculate',
    ]);

    const last = requests.at(-1)?.body;
    expect(last?.tool_choice).toBe('none');
    const results = last?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'call_1_2', 'b', 'c', 'c', 'd']);
    expect(results.slice(1).map(({ content }) => content)).toEqual([
      '{"value":42}',
      'Error: The arguments of calculate are no JSON object',
      'Error: There is no tool send_email',
      expect.stringContaining('Error: ../../etc/passwd is not among the files of the repository'),
      expect.stringContaining('Refused: Loop budget exhausted in ACTING: 2/2. '),
    ]);
    expect(results[5]?.content).toContain('answer with what you have and say what failed');
  });

  it('says what the endpoint answered when it refuses, without the key', async () => {
    const { url } = await serve(() => ({ status: 401, text: '{"error":"bad key"}' }));
    const { code, stdout, stderr } = await start(url);
    expect(code).toBe(1);
    expect(stdout).toContain(`The run failed: ${url}/chat/completions answered 401: {"error":"bad key"}`);
    expect(stdout).toContain('0 calls, 0 failed: allowed');
    expect(stdout + stderr).not.toContain('key-of-the-test');
  });

  it.each(['<html>', '{}', '{"choices":[]}', '{"choices":[{"message":null}]}'])(
    'says so when the answer is no chat completion: %s',
    async (text) => {
      const { url } = await serve(() => ({ text }));
      const model = chatCompletionsModel({ url, model: 'm', key: undefined });
      const reply = model([], { tools: [], mayCall: true, signal: AbortSignal.timeout(5000) });
      await expect(reply).rejects.toThrow(`answered no chat completion, but: ${text}`);
    },
  );

  it('says which endpoint cannot be reached', async () => {
    const { url } = await serve(() => ({}));
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    const model = chatCompletionsModel({ url, model: 'm', key: undefined });
    const reply = model([], { tools: [], mayCall: true, signal: AbortSignal.timeout(5000) });
    await expect(reply).rejects.toThrow(new RegExp(`^${url} cannot be reached: .*ECONNREFUSED`));
  });

  it('stops asking when the run is aborted', async () => {
    const { url } = await serve(() => ({ message: { content: 'x' } }));
    const model = chatCompletionsModel({ url, model: 'm', key: undefined });
    const reply = model([], { tools: [], mayCall: true, signal: AbortSignal.abort(new Error('deadline')) });
    await expect(reply).rejects.toThrow('deadline');
  });
});

describe('the environment', () => {
  it.each([
    [{}, undefined],
    [{ OPENAI_API_KEY: 'k' }, undefined],
    [{ OPENAI_MODEL: 'm' }, undefined],
    [{ OPENAI_API_KEY: '', OPENAI_MODEL: 'm' }, undefined],
    [
      { OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm' },
      { url: 'https://api.openai.com/v1/chat/completions', model: 'm', key: 'k' },
    ],
    [
      { OPENAI_BASE_URL: 'http://localhost:11434/v1/', OPENAI_MODEL: 'm' },
      { url: 'http://localhost:11434/v1/chat/completions', model: 'm', key: undefined },
    ],
  ])('%o names the endpoint %o', (env, endpoint) => {
    expect(endpointFrom(env)).toEqual(endpoint);
  });
});
