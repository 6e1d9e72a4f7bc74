import { describe, expect, it } from 'vitest';
import { callsOf, eventsOf, faultsOf, lines, replayed } from '../support.ts';
import { formatNamed } from './recordings.ts';

const user = { role: 'user', content: 'hello' };
const asks = (...calls: readonly (readonly [id: string, tool: string, more?: object])[]) => ({
  role: 'assistant',
  content: calls.map(([toolCallId, toolName, more]) => ({
    type: 'tool-call',
    toolCallId,
    toolName,
    input: { q: 1 },
    ...more,
  })),
});
const answers = (
  toolCallId: string,
  output: unknown = { type: 'text', value: 'fine' },
  more: object = {},
) => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 't', output, ...more }],
});
const ui = (...parts: readonly object[]) => ({ id: 'm', role: 'assistant', parts });
const step = { type: 'step-start' };

describe('model messages of the AI SDK', () => {
  it.each([
    [{ type: 'text', value: 'Error: said by a tool that ended well' }, 'ok'],
    [{ type: 'json', value: { error: true } }, 'ok'],
    [{ type: 'error-text', value: 'no' }, 'error'],
    [{ type: 'error-json', value: {} }, 'error'],
    [{ type: 'execution-denied', reason: 'no' }, 'none'],
  ])('have failed by the type of the output: %j is %s', async (output, end) => {
    expect(await callsOf(JSON.stringify([user, asks(['c', 't']), answers('c', output)]))).toEqual([
      `t ${end}`,
    ]);
  });

  it('of version 4 have args, and a flag for a failure', async () => {
    const messages = [
      asks(['c', 't', { input: undefined, args: { q: 2 } }]),
      answers('c', undefined, { result: 'x', isError: true }),
    ];
    const events = await eventsOf(JSON.stringify(messages));
    expect(events[1]).toMatchObject({ type: 'call.started', tool: 't', args: { q: 2 } });
    expect(await callsOf(JSON.stringify(messages))).toEqual(['t error']);
  });

  it('call nothing that the provider of the model runs by itself', async () => {
    const messages = [
      asks(['c1', 'web_search', { providerExecuted: true }], ['c2', 'mine']),
      { role: 'assistant', content: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'json' } }] },
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['mine none']);
  });

  it('are not taken for those of OpenAI, which also have a role for tools', async () => {
    const messages = [user, answers('c0'), asks(['c1', 't']), answers('c1')];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['t ok']);
    expect(await faultsOf(JSON.stringify(messages), formatNamed('openai'))).toEqual([
      expect.stringContaining('--format ai-sdk'),
    ]);
  });
});

describe('user interface messages of the AI SDK', () => {
  it.each([
    ['input-streaming', {}, 'none'],
    ['input-available', {}, 'none'],
    ['approval-requested', {}, 'none'],
    ['approval-responded', {}, 'none'],
    ['output-available', {}, 'ok'],
    ['output-available', { preliminary: true }, 'none'],
    ['output-error', {}, 'error'],
    ['output-denied', {}, 'none'],
  ])('tell how a call ended by its state: %s %j is %s', async (state, more, end) => {
    const part = { toolCallId: 'c', state, input: {}, ...more };
    expect(await callsOf(lines(ui(step, { type: 'tool-look', ...part })))).toEqual([`look ${end}`]);
    const dynamic = { type: 'dynamic-tool', toolName: 'mcp_look', ...part };
    expect(await callsOf(lines(ui(step, dynamic)))).toEqual([`mcp_look ${end}`]);
  });

  it('begin a turn with each step, so calls without a result end before the calls of the next', async () => {
    const open = { type: 'tool-a', toolCallId: '1', state: 'input-available', input: {} };
    const done = { type: 'tool-b', toolCallId: '2', state: 'output-available', input: {}, output: 1 };
    const events = await eventsOf(lines(ui(step, open, step, done)));
    expect(events.map((event) => ('call' in event ? `${event.type} ${event.call}` : event.type))).toEqual([
      'run.started',
      'call.started 1',
      'call.ended 1',
      'call.started 2',
      'call.ended 2',
      'run.ended',
    ]);
  });

  it('may lie in a chat, which names the run', async () => {
    const { reports } = await replayed(
      JSON.stringify({ id: 'chat-7', messages: [ui({ type: 'text', text: 'hi' })] }),
    );
    expect(reports).toMatchObject([{ run: 'chat-7', calls: 0 }]);
  });

  it('say which call has no name of a tool', async () => {
    const nameless = { type: 'dynamic-tool', toolCallId: 'c', state: 'input-available' };
    expect(await faultsOf(lines(ui(nameless)))).toEqual(['1: a tool call without the name of the tool']);
  });
});
