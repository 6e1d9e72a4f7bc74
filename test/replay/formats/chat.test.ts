import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../../src/replay/index.ts';
import { callsOf, eventsOf, faultsOf, lines, replayed, stream } from '../support.ts';

const openai = FORMATS.find(({ name }) => name === 'openai');
const anthropic = FORMATS.find(({ name }) => name === 'anthropic');

const user = { role: 'user', content: 'hello' };
const asks = (...calls: readonly (readonly [id: string | undefined, name: string])[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map(([id, name]) => ({ id, type: 'function', function: { name, arguments: '{"q":1}' } })),
});
const answers = (id: string | undefined, content: unknown = 'fine') => ({
  role: 'tool',
  tool_call_id: id,
  content,
});

describe('OpenAI messages', () => {
  it('call a tool with each entry of tool_calls, and end it with the tool message of that id', async () => {
    const messages = [
      user,
      asks(['c1', 'search']),
      answers('c1'),
      asks(['c2', 'read']),
      answers('c2', 'Error: no'),
      user,
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['search ok', 'read error']);
  });

  it('hand on the id and the parsed arguments; arguments that are no JSON as they are', async () => {
    const call = (args: unknown) => ({
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 't', arguments: args } }],
    });
    const events = await eventsOf(JSON.stringify([call('{"q":1}'), call('{"q":'), call({ q: 2 })]));
    const started = events.filter((event) => event.type === 'call.started');
    expect(started.map(({ args }) => args)).toEqual([{ q: 1 }, '{"q":', { q: 2 }]);
    expect(started.map(({ callId }) => callId)).toEqual(['c', 'c', 'c']);
  });

  it.each([
    ['Error: not found', false],
    ['Tool call timed out.', false],
    ['meta=None content=[] isError=True', false],
    ['meta=None content=[] isError=False', true],
    ['There was an Error', true],
    ['', true],
  ])('have failed by the words of the result: %j is %j', async (content, ok) => {
    const calls = await callsOf(JSON.stringify([asks(['c', 't']), answers('c', content)]));
    expect(calls).toEqual([`t ${ok ? 'ok' : 'error'}`]);
    const inParts = [{ type: 'text', text: content }];
    expect(await callsOf(JSON.stringify([asks(['c', 't']), answers('c', inParts)]))).toEqual(calls);
  });

  it('may use an id again, in one turn and in another', async () => {
    const messages = [
      asks(['c', 'a'], ['c', 'b']),
      answers('c', 'Error'),
      answers('c', 'fine'),
      asks(['c', 'd']),
      answers('c', 'Error'),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['a error', 'b ok', 'd error']);
  });

  it('may have no ids: then results come in the order of the calls', async () => {
    const messages = [
      asks([undefined, 'a'], [undefined, 'b']),
      answers(undefined, 'Error'),
      answers(undefined),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['a error', 'b ok']);
  });

  it('may lack results: such calls end when the model speaks again, or the conversation ends', async () => {
    const messages = [
      asks(['c1', 'a'], ['c2', 'b']),
      answers('c2'),
      { role: 'assistant', content: 'so' },
      asks(['c3', 'd']),
    ];
    const events = await eventsOf(JSON.stringify(messages));
    expect(await callsOf(JSON.stringify(messages))).toEqual(['a none', 'b ok', 'd none']);
    expect(events.filter(({ type }) => type === 'call.ended')).toEqual([
      expect.objectContaining({ ok: true }),
      expect.objectContaining({ ok: null }),
    ]);
  });

  it('may have 16 calls in one turn, which are made in their order', async () => {
    const ids = Array.from({ length: 16 }, (_, i) => `c${i}`);
    const messages = [
      asks(...ids.map((id) => [id, `tool_${id}`] as const)),
      ...ids.toReversed().map((id) => answers(id)),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(ids.map((id) => `tool_${id} ok`));
    const { reports } = await replayed(JSON.stringify(messages));
    expect(reports).toMatchObject([{ calls: 16, failed: 0, verdict: 'allowed', stepCount: 16 }]);
  });

  it('once had one function_call a message, ended by a function message', async () => {
    const messages = [
      { role: 'assistant', content: null, function_call: { name: 'search', arguments: '{}' } },
      { role: 'function', name: 'search', content: 'Error' },
      { role: 'assistant', content: null, function_call: { name: 'search', arguments: '{}' } },
      { role: 'function', name: 'search', content: 'fine' },
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['search error', 'search ok']);
  });

  it('may ask for custom tools, which take text', async () => {
    const messages = [
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sql', input: 'select 1' } }],
      },
      answers('c'),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual(['sql ok']);
  });

  it('may begin with a result whose call they do not hold', async () => {
    expect(await callsOf(JSON.stringify([answers('c0', 'Error'), asks(['c1', 'a']), answers('c1')]))).toEqual(
      ['a ok'],
    );
  });

  it('say which call has no name of a tool', async () => {
    const messages = [user, { role: 'assistant', tool_calls: [{ id: 'c', function: {} }] }];
    expect(await faultsOf(JSON.stringify(messages, null, 1))).toEqual([
      expect.stringMatching(/^6: a tool call without the name/),
    ]);
  });
});

describe('Anthropic messages', () => {
  const uses = (...calls: readonly (readonly [id: string | undefined, name: string])[]) => ({
    role: 'assistant',
    content: [
      { type: 'text', text: 'I will' },
      ...calls.map(([id, name]) => ({ type: 'tool_use', id, name, input: { q: 1 } })),
    ],
  });
  const gives = (...results: readonly (readonly [id: string | undefined, error?: boolean])[]) => ({
    role: 'user',
    content: results.map(([id, error]) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: 'Error',
      is_error: error,
    })),
  });

  it('call with tool_use blocks and end with tool_result blocks, failed by is_error alone', async () => {
    const messages = [
      user,
      uses(['t1', 'a'], ['t2', 'b']),
      gives(['t2', true], ['t1']),
      uses(['t3', 'd']),
      gives(['t3', false]),
    ];
    expect(await callsOf(JSON.stringify({ messages }))).toEqual(['a ok', 'b error', 'd ok']);
  });

  it('may use ids again, have none, or lack results', async () => {
    const messages = [
      uses(['t', 'a'], ['t', 'b']),
      gives(['t', true], ['t']),
      uses([undefined, 'c']),
      gives([undefined, true]),
      uses(['u', 'd']),
      uses(['v', 'e']),
    ];
    expect(await callsOf(JSON.stringify(messages))).toEqual([
      'a error',
      'b ok',
      'c error',
      'd none',
      'e none',
    ]);
  });
});

describe('conversations', () => {
  const messages = [user, asks(['c', 'a']), answers('c')];
  const runs = async (content: string, name = 'folder/chat.json') => {
    const { reports, faults } = await replayed([stream(content, { name })]);
    expect(faults).toEqual([]);
    return reports.map(({ index, run, calls }) => `${index} ${run} ${calls}`);
  };

  it.each([
    ['an array of messages', JSON.stringify(messages, null, 2), ['0 chat.json 1']],
    ['an array of messages in one line', JSON.stringify(messages), ['0 chat.json 1']],
    ['an object with messages', JSON.stringify({ model: 'm', messages }), ['0 chat.json 1']],
    ['an array of arrays', JSON.stringify([messages, messages]), ['0 chat.json 1', '1 chat.json#1 1']],
    [
      'an array of objects',
      JSON.stringify([{ messages }, { messages }]),
      ['0 chat.json 1', '1 chat.json#1 1'],
    ],
    ['JSON lines of objects', lines({ messages }, { messages }), ['0 chat.json 1', '1 chat.json#1 1']],
    ['JSON lines of arrays', lines(messages, messages), ['0 chat.json 1', '1 chat.json#1 1']],
    ['JSON lines of messages', lines(...messages), ['0 chat.json 1']],
    ['objects with traj', JSON.stringify([{ task_id: 7, trial: 0, traj: messages }]), ['0 t7.0 1']],
    ['objects with a task', JSON.stringify([{ task_id: 'x', messages }]), ['0 x 1']],
    ['objects with an id', lines({ id: 'i', messages }, { run_id: 'r', messages }), ['0 i 1', '1 r 1']],
    ['one without messages', JSON.stringify({ messages: [] }), ['0 chat.json 0']],
    ['one without tools', JSON.stringify([user, { role: 'assistant', content: 'hi' }]), ['0 chat.json 0']],
  ])('may be %s', async (_, content, expected) => {
    expect(await runs(content)).toEqual(expected);
  });

  it('are found to be Anthropic or OpenAI by the first tool call, however late it comes', async () => {
    const talk = Array.from({ length: 3000 }, () => user);
    const use = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'a', input: {} }] };
    expect(await callsOf(JSON.stringify([...talk, use]))).toEqual(['a none']);
    expect(await callsOf(JSON.stringify([...talk, asks(['c', 'b'])]))).toEqual(['b none']);
  });

  it('that are read in the wrong words say so, rather than that there are no calls', async () => {
    const use = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'a', input: {} }] };
    expect(await faultsOf(JSON.stringify([use, use]), openai)).toEqual([
      expect.stringContaining('--format anthropic'),
    ]);
    expect(await faultsOf(JSON.stringify([asks(['c', 'a'])]), anthropic)).toEqual([
      expect.stringContaining('--format openai'),
    ]);
  });

  it('tell of what is no message, and read the rest', async () => {
    const content = lines({ messages }, { level: 'info' }, { messages: [{ text: 'no role' }, ...messages] });
    expect(await faultsOf(content)).toEqual([
      '2: expected a message, or an object with "messages" or "traj", got an object with "level"',
      '3: expected a message with a role and content, got an object with "text"',
    ]);
    expect(await callsOf(content)).toEqual(['a ok', 'a ok']);
  });
});
