import { describe, expect, it } from 'vitest';
import { callsOf, faultsOf, lines, replayed } from '../support.ts';

const human = { type: 'human', content: 'hello' };
const ai = (...tool_calls: readonly object[]) => ({ type: 'ai', content: '', tool_calls });
const call = (id: string | undefined, name: string) => ({ id, name, args: { q: 1 }, type: 'tool_call' });
const tool = (tool_call_id: string | undefined, more: object = {}) => ({
  type: 'tool',
  content: 'fine',
  tool_call_id,
  ...more,
});
const constructed = (name: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'schema', 'messages', name],
  kwargs,
});

describe('messages of LangChain', () => {
  it('have failed by their status; without one, by their words', async () => {
    const messages = [
      human,
      ai(call('1', 'a'), call('2', 'b'), call('3', 'c'), call('4', 'd')),
      tool('1', { status: 'success', content: 'Error: said by a tool that ended well' }),
      tool('2', { status: 'error' }),
      tool('3', { content: "Error: TypeError('x')\n Please fix your mistakes." }),
      tool('4'),
    ];
    expect(await callsOf(lines(...messages))).toEqual(['a ok', 'b error', 'c error', 'd ok']);
  });

  it('may be of any class, whole or a chunk', async () => {
    const messages = [
      constructed('HumanMessage', { content: 'x' }),
      constructed('AIMessageChunk', { content: '', tool_calls: [call('1', 'a')] }),
      constructed('ToolMessage', { content: 'x', tool_call_id: '1', status: 'error' }),
      constructed('RemoveMessage', { id: 'm' }),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['a error']);
    const chunk = { ...ai(call('1', 'a')), type: 'AIMessageChunk' };
    expect(await callsOf(lines(human, chunk))).toEqual(['a none']);
  });

  it('that are older have their calls as OpenAI wrote them', async () => {
    const additional_kwargs = { tool_calls: [{ id: '1', function: { name: 'a', arguments: '{}' } }] };
    const old = { type: 'ai', data: { content: '', additional_kwargs } };
    expect(await callsOf(lines(old, { type: 'tool', data: tool('1') }))).toEqual(['a ok']);
    // The same calls are not counted twice.
    const both = { type: 'ai', data: { content: '', additional_kwargs, tool_calls: [call('1', 'a')] } };
    expect(await callsOf(lines(both))).toEqual(['a none']);
  });

  it('may lack ids: then results come in the order of the calls', async () => {
    const messages = [
      ai(call(undefined, 'a'), call(undefined, 'b')),
      tool(undefined, { status: 'error' }),
      tool(undefined),
    ];
    expect(await callsOf(lines(...messages))).toEqual(['a error', 'b ok']);
  });

  it.each([
    ['the state of a graph', { values: { messages: [ai(call('1', 'a'))] }, next: [] }],
    ['a thread', { thread_id: 't', messages: [ai(call('1', 'a'))] }],
  ])('may lie in %s', async (_, value) => {
    expect(await callsOf(JSON.stringify(value))).toEqual(['a none']);
  });

  it('of a conversation without tools are read as one without calls', async () => {
    const { reports, faults } = await replayed(lines(human, { type: 'ai', content: 'hello' }));
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 0 }]);
  });

  it('are told from what is no message', async () => {
    const content = lines(ai(call('1', 'a')), { type: 'ai' }, { lc: 1, type: 'constructor', id: ['x'] });
    expect(await faultsOf(content)).toEqual([
      '2: expected a message, or an object with "messages", got an object with "type"',
      '3: expected a message, or an object with "messages", got an object with "lc", "type", "id"',
    ]);
  });
});
