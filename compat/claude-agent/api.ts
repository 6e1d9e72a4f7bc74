/** The Messages API on loopback, with a scripted model. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Script, Turn } from '../suite/harness.ts';

/** What the scenarios ask of the conversations of a model. */
export interface Conversation {
  turns: number;
  told: readonly string[];
}

/** What of a request is looked at. */
export interface Request {
  readonly model: string;
  readonly stream?: boolean;
  readonly system?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

interface Block {
  readonly type: string;
  readonly content?: unknown;
  readonly text?: string;
}

/**
 * Serves a model.
 *
 * @param scriptOf The script of a conversation, of which there are several where there are subagents.
 * @returns Its address, to be given as ANTHROPIC_BASE_URL. The process need not wait for its end.
 */
export async function serveModel(
  scriptOf: (request: Request) => Script,
  conversation: Conversation = { turns: 0, told: [] },
): Promise<string> {
  const server = createServer(async (request, response) => {
    const asked = request.url?.startsWith('/v1/messages?') ? await bodyOf(request) : undefined;
    if (asked === undefined) return void response.writeHead(404).end();
    const told = asked.messages.flatMap(({ role, content }) => (role === 'user' ? resultsIn(content) : []));
    conversation.turns += 1;
    conversation.told = told;
    const turn = asked.messages.filter(({ role }) => role === 'assistant').length;
    answer(response, asked, contentOf(scriptOf(asked)(turn, told), told.length));
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bodyOf(request: IncomingMessage): Promise<Request> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

function resultsIn(content: unknown): string[] {
  const blocks = Array.isArray(content) ? (content as Block[]) : [];
  return blocks.filter(({ type }) => type === 'tool_result').map((block) => textOf(block.content));
}

/** The text in the content of a message or a result. */
export function textOf(content: unknown): string {
  return Array.isArray(content) ? content.map(({ text }: Block) => text ?? '').join('\n') : String(content);
}

function contentOf(turn: Turn, asked: number) {
  if (typeof turn === 'string') return [{ type: 'text', text: turn }];
  return turn.map(({ tool, args = {} }, index) => ({
    type: 'tool_use',
    id: `asked-${asked + index + 1}`,
    name: tool,
    input: args,
  }));
}

function answer(
  response: ServerResponse,
  { model, stream }: Request,
  content: ReturnType<typeof contentOf>,
): void {
  const stop = { stop_reason: content[0]?.type === 'text' ? 'end_turn' : 'tool_use', stop_sequence: null };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...stop,
    usage,
  };
  if (stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (event: { readonly type: string; readonly [key: string]: unknown }) =>
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({ type: 'message_start', message: { ...message, content: [], stop_reason: null } });
  content.forEach((block, index) => {
    const isText = 'text' in block;
    const empty = isText ? { ...block, text: '' } : { ...block, input: {} };
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify('input' in block ? block.input : {}) };
    send({ type: 'content_block_start', index, content_block: empty });
    send({ type: 'content_block_delta', index, delta });
    send({ type: 'content_block_stop', index });
  });
  send({ type: 'message_delta', delta: stop, usage });
  send({ type: 'message_stop' });
  response.end();
}
