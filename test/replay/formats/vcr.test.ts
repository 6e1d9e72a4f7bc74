import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readYamlCassette } from '../../../src/replay/formats/vcr-yaml.ts';
import { decodeText } from '../../../src/replay/text.ts';
import { callsOf, eventsOf, faultsOf, replayed, stream } from '../support.ts';
import { formatNamed } from './recordings.ts';

const exchange = (request: object, response: unknown) => ({
  request: { method: 'POST', uri: 'https://api.example/v1', parsed_body: request },
  response: { parsed_body: response, status: { code: 200, message: 'OK' } },
});
const cassette = (...interactions: readonly unknown[]) => stringify({ interactions, version: 1 });

const user = { role: 'user', content: 'hello' };
const fc = (call_id: string, name: string) => ({ type: 'function_call', call_id, name, arguments: '{}' });
const out = (call_id: string, output = 'fine') => ({ type: 'function_call_output', call_id, output });
const uses = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: `tool_${id}`, input: {} })),
});
const gives = (...ids: readonly string[]) => ({
  role: 'user',
  content: ids.map((tool_use_id) => ({ type: 'tool_result', tool_use_id, is_error: tool_use_id === 'bad' })),
});
const chat = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, function: { name: `tool_${id}`, arguments: '{}' } })),
});

describe('a cassette', () => {
  it.each([
    [
      'OpenAI responses',
      [
        exchange(
          { model: 'm', input: [user] },
          { output: [{ type: 'reasoning' }, fc('1', 'tool_1'), fc('2', 'tool_2')] },
        ),
        exchange(
          { model: 'm', input: [user, fc('1', 'tool_1'), fc('2', 'tool_2'), out('1'), out('2', 'Error')] },
          { output: [] },
        ),
      ],
    ],
    [
      'OpenAI responses that the API remembers',
      [
        exchange({ model: 'm', input: 'hello' }, { id: 'r', output: [fc('1', 'tool_1'), fc('2', 'tool_2')] }),
        exchange(
          { model: 'm', previous_response_id: 'r', input: [out('1'), out('2', 'Error')] },
          { output: [] },
        ),
      ],
    ],
    [
      'OpenAI chat',
      [
        exchange({ messages: [user] }, { choices: [{ message: chat('1', '2') }] }),
        exchange(
          {
            messages: [
              user,
              chat('1', '2'),
              { role: 'tool', tool_call_id: '1', content: 'x' },
              { role: 'tool', tool_call_id: '2', content: 'Error' },
            ],
          },
          { choices: [] },
        ),
      ],
    ],
  ])('of %s is a run: responses ask for calls, and requests hand back results', async (_, exchanges) => {
    const { reports, faults } = await replayed([stream(cassette(...exchanges), { name: 'a/test_x.yaml' })]);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ run: 'test_x.yaml', calls: 2, failed: 1 }]);
    expect(await callsOf(cassette(...exchanges))).toEqual(['tool_1 ok', 'tool_2 error']);
    expect(await callsOf(JSON.stringify({ version: 1, interactions: exchanges }))).toEqual([
      'tool_1 ok',
      'tool_2 error',
    ]);
  });

  it('of Anthropic may hold several conversations, all of one run', async () => {
    const exchanges = [
      exchange({ messages: [user] }, { type: 'message', ...uses('1') }),
      exchange({ messages: [user, uses('1'), gives('1')] }, { type: 'message', ...uses('bad') }),
      exchange(
        { messages: [user, uses('1'), gives('1'), uses('bad'), gives('bad')] },
        { type: 'message', role: 'assistant', content: [] },
      ),
      exchange({ messages: [user] }, { type: 'message', ...uses('1') }),
      exchange({ messages: [user, uses('1'), gives('1')] }, { type: 'message', ...uses('3') }),
    ];
    expect(await callsOf(cassette(...exchanges))).toEqual([
      'tool_1 ok',
      'tool_bad error',
      'tool_1 ok',
      'tool_3 none',
    ]);
  });

  it('may hold a program that gives the calls ids of its own', async () => {
    const exchanges = [
      exchange({ model: 'm', input: [user] }, { output: [fc('0', 'a'), fc('0', 'b')] }),
      exchange(
        { model: 'm', input: [user, fc('x', 'a'), fc('y', 'b'), out('x', 'Error'), out('y')] },
        { output: [fc('0', 'c')] },
      ),
      exchange(
        {
          model: 'm',
          input: [user, fc('x', 'a'), fc('y', 'b'), out('x', 'Error'), out('y'), fc('z', 'c'), out('z')],
        },
        { output: [] },
      ),
    ];
    expect(await callsOf(cassette(...exchanges))).toEqual(['a error', 'b ok', 'c ok']);
  });

  it('takes from the next request what a response said that is streamed; of the last one that cannot be', async () => {
    const streamed = (body: string) => ({
      request: { body: JSON.stringify({ messages: [user] }) },
      response: { body: { string: body } },
    });
    const next = exchange(
      { messages: [user, uses('1', 'bad'), gives('bad', '1')] },
      { type: 'message', ...uses('3') },
    );
    expect(await callsOf(cassette(streamed('event: x\n\n'), next))).toEqual([
      'tool_1 ok',
      'tool_bad error',
      'tool_3 none',
    ]);
    expect(await faultsOf(cassette(streamed('event: x\n\n'), next))).toEqual([]);
    expect(await faultsOf(cassette(next, streamed('event: x\n\n')))).toEqual([
      expect.stringMatching(/^\d+: the last response is no JSON/),
    ]);
  });

  it('passes over exchanges with anything but a model, and refusals of one', async () => {
    const exchanges = [
      { request: { method: 'GET', body: null }, response: { body: { string: 'fine' } } },
      exchange({ model: 'm', input: ['embed me'] }, { data: [] }),
      exchange({ messages: [user] }, { type: 'message', ...uses('1') }),
      exchange({ messages: [user, uses('1'), gives('1')] }, { error: { message: 'overloaded' } }),
      exchange(
        { messages: [user, uses('1'), gives('1')] },
        { type: 'message', role: 'assistant', content: [] },
      ),
    ];
    expect(await callsOf(cassette(...exchanges))).toEqual(['tool_1 ok']);
    expect(await faultsOf(cassette(...exchanges))).toEqual([]);
  });

  it('tells where a call was asked for', async () => {
    const content = cassette(
      exchange({ messages: [user] }, { type: 'message', ...uses('1') }),
      exchange({ messages: [user] }, { type: 'message', ...uses('2') }),
    );
    const events = await eventsOf(content);
    const at = events.flatMap((event) => (event.type === 'call.started' ? [event.line] : []));
    const expected = content
      .split('\n')
      .flatMap((text, index) => (text.includes('- request:') ? [index + 1] : []));
    expect(at).toEqual(expected);
  });

  it.each([
    ['a version before it', 'version: 1\ninteractions:\n- request: {}\n'],
    ['a comment, a mark and an empty line before it', '# recorded\n---\n\ninteractions: \n- request: {}\n'],
    ['a byte order mark', '\uFEFFinteractions:\r\n- request: {}\r\n'],
  ])('is found with %s', async (_, content) => {
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 0 }]);
  });

  const good = cassette(exchange({ messages: [user] }, { type: 'message', ...uses('1') }));

  it.each([
    [
      'an exchange that is none',
      `${good.replace('version: 1\n', '')}  - 5\n`,
      'expected an exchange with a "request", got a number',
    ],
    ['YAML that is broken', `${good}x: {`, 'not YAML: '],
    ['an alias of nothing', `${good.replace('version: 1\n', '')}  - *nothing\n`, 'Unresolved alias'],
  ])('with %s is read up to it, which is told', async (_, content, fault) => {
    expect((await faultsOf(content)).join('\n')).toContain(fault);
    expect((await faultsOf(content)).length).toBeGreaterThan(0);
    expect(await callsOf(content)).toEqual(['tool_1 none']);
  });

  it('in which aliases stand for more than the memory holds is read up to that, which is told', async () => {
    const bomb = Array.from(
      { length: 12 },
      (_, i) => `b${i + 1}: &b${i + 1} [${`*b${i}, `.repeat(9)}*b${i}]`,
    );
    const content = `b0: &b0 [x, x]\n${bomb.join('\n')}\n${good.replace('s:\n', 's:\n  - request: *b12\n')}`;
    const vcr = formatNamed('vcr');
    expect(await faultsOf(content, vcr)).toEqual([
      expect.stringMatching(/^15: the exchange cannot be read: Excessive alias count/),
    ]);
    expect(await callsOf(content, vcr)).toEqual(['tool_1 none']);
  });

  it('is read to a limit', async () => {
    const found: unknown[] = [];
    for await (const one of readYamlCassette(decodeText(stream(good).bytes), good.length - 1))
      found.push(one);
    expect(found).toEqual([{ line: 1, fault: expect.stringContaining('the most that is read') }]);
  });

  it('is told from what is none', async () => {
    expect(await faultsOf('interactions: 5\n', formatNamed('vcr'))).toEqual([
      '1: expected a list of "interactions", and there is none',
    ]);
    expect(await faultsOf('{"x":1}', formatNamed('vcr'))).toEqual([
      '1: expected an object with "interactions", got an object with "x"',
    ]);
  });
});
