import { describe, expect, it } from 'vitest';
import { callsOf, eventsOf, faultsOf, lines, replayed } from '../support.ts';
import { formatNamed } from './recordings.ts';

const asks = (call_id: string, name: string, more: object = {}) => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: '{"q":1}',
  ...more,
});
const answers = (call_id: string, output: unknown = 'fine') => ({
  type: 'function_call_output',
  call_id,
  output,
});
const says = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const user = { role: 'user', content: 'hello' };

describe('items of the Responses API', () => {
  it('call with function_call and end with the function_call_output of that call_id', async () => {
    const items = [user, asks('1', 'a'), asks('2', 'b'), answers('2', 'Error: no'), answers('1'), says('so')];
    expect(await callsOf(JSON.stringify(items))).toEqual(['a ok', 'b error']);
    const started = (await eventsOf(JSON.stringify(items))).find(({ type }) => type === 'call.started');
    expect(started).toMatchObject({ callId: '1', args: { q: 1 } });
  });

  it('that the model says one after the other are one turn; a call without a result ends with the next', async () => {
    const items = [
      asks('1', 'a'),
      { type: 'reasoning', summary: [] },
      asks('2', 'b'),
      answers('2'),
      asks('3', 'c'),
      answers('1'),
    ];
    const events = await eventsOf(lines(...items));
    const told = events.map((event) => ('call' in event ? `${event.type} ${event.call}` : event.type));
    expect(told).toEqual([
      'run.started',
      'call.started 1',
      'call.started 2',
      'call.ended 2',
      'call.ended 1',
      'call.started 3',
      'run.ended',
    ]);
    expect(events[4]).toMatchObject({ ok: null });
  });

  it.each([
    [{ type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'select 1' }, 'sql'],
    [{ type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } }, 'shell'],
    [{ type: 'local_shell_call', call_id: 'c', action: {} }, 'local_shell'],
    [{ type: 'apply_patch_call', call_id: 'c', operation: {} }, 'apply_patch'],
    [{ type: 'computer_call', call_id: 'c', action: {} }, 'computer'],
    [{ type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} }, 'tool_search'],
  ])('call what the program runs: %j', async (item, tool) => {
    expect(await callsOf(lines(user, item, { ...answers('c'), type: `${tool}_call_output` }))).toEqual([
      `${tool} ${tool === 'sql' ? 'none' : 'ok'}`,
    ]);
  });

  it('call nothing that OpenAI runs by itself', async () => {
    const items = [
      'web_search',
      'file_search',
      'code_interpreter',
      'image_generation',
      'mcp',
      'tool_search',
    ].map((tool) => ({ type: `${tool}_call`, id: 'x', name: 'n', execution: 'server', status: 'completed' }));
    const { reports, faults } = await replayed(JSON.stringify([user, ...items, says('so')]));
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 0 }]);
  });

  it.each([
    [[{ outcome: { type: 'exit', exit_code: 0 } }], 'ok'],
    [[{ outcome: { type: 'exit', exit_code: 0 } }, { outcome: { type: 'exit', exit_code: 2 } }], 'error'],
    [[{ outcome: { type: 'timeout' } }], 'error'],
  ])('have failed by the outcome of a command: %j is %s', async (output, end) => {
    const items = [
      { type: 'shell_call', call_id: 'c', action: {} },
      { type: 'shell_call_output', call_id: 'c', output },
    ];
    expect(await callsOf(lines(...items))).toEqual([`shell ${end}`]);
  });

  it('have failed by the status of a patch, and by the words of the Agents SDK', async () => {
    const patch = { type: 'apply_patch_call', call_id: 'p', operation: {} };
    const items = [
      patch,
      { type: 'apply_patch_call_output', call_id: 'p', status: 'failed', output: 'no such file' },
      asks('f', 'a'),
      answers('f', 'An error occurred while running the tool. Please try again.'),
    ];
    expect(await callsOf(lines(...items))).toEqual(['apply_patch error', 'a error']);
  });

  it.each([
    ['an object with items', { items: [user, asks('1', 'a')] }],
    ['what was sent and what came', { id: 'r', input: [user], output: [asks('1', 'a')] }],
    ['a response', { object: 'response', input: 'hello', output: [asks('1', 'a')] }],
    ['items of the Agents SDK', { newItems: [{ type: 'tool_call_item', rawItem: asks('1', 'a') }] }],
  ])('may lie in %s', async (_, value) => {
    expect(await callsOf(JSON.stringify(value))).toEqual(['a none']);
  });

  it('that are messages of another kind say so, rather than that there are no calls', async () => {
    const chat = [
      user,
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'a' } }] },
    ];
    expect(await faultsOf(JSON.stringify(chat), formatNamed('openai-responses'))).toEqual([
      expect.stringContaining('--format openai'),
    ]);
  });
});
