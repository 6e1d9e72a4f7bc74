import { describe, expect, it } from 'vitest';
import { SpanFile } from '../../../src/replay/formats/spans.ts';
import { callsOf, eventsOf, faultsOf, lines, replayed } from '../support.ts';

interface SpanOptions {
  readonly in?: string;
  readonly at?: number;
  readonly until?: number | null;
  readonly trace?: string;
  readonly status?: unknown;
  readonly attributes?: object;
  readonly more?: object;
}

// A span of a list, from 1000 + at to 1000 + until.
function span(id: string, name: string, options: SpanOptions = {}) {
  const { at = 0, until = at + 1, trace = 't', status, attributes = {}, more } = options;
  return {
    trace_id: trace,
    span_id: id,
    parent_span_id: options.in ?? null,
    name,
    start_time: 1000 + at,
    end_time: until === null ? null : 1000 + until,
    attributes,
    status,
    ...more,
  };
}

function call(id: string, tool: string, { attributes, ...options }: SpanOptions = {}) {
  const named = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool };
  return span(id, `execute_tool ${tool}`, { ...options, attributes: { ...named, ...attributes } });
}

const agent = (id: string, options: SpanOptions = {}) =>
  span(id, 'invoke_agent x', { ...options, attributes: { 'gen_ai.operation.name': 'invoke_agent' } });

const told = async (content: string) =>
  (await eventsOf(content)).map((event) => ('call' in event ? `${event.type} ${event.call}` : event.type));

describe('spans', () => {
  it('come in any order, and are calls in the order in which they started', async () => {
    const content = lines(
      call('2', 'b', { in: 'root', at: 5 }),
      call('1', 'a', { in: 'root', at: 1 }),
      agent('root', { until: 9 }),
    );
    expect(await callsOf(content)).toEqual(['a ok', 'b ok']);
  });

  it('of a call that was refused are a call without a result, whatever its status', async () => {
    const refused = { 'phasegate.decision': 'refused', 'error.type': 'step-budget' };
    const content = lines(
      call('1', 'a', { at: 1, status: { code: 2 }, attributes: refused }),
      call('2', 'b', { at: 2, status: { code: 2 } }),
    );
    expect(await callsOf(content)).toEqual(['a none', 'b error']);
    const { reports } = await replayed(content);
    expect(reports).toMatchObject([{ calls: 2, failed: 1, stepCount: 1 }]);
  });

  it('of a call that was interrupted as its run was saved are a step, whatever its status', async () => {
    const interrupted = { 'error.type': 'interrupted' };
    const admitted = { 'phasegate.decision': 'admitted', ...interrupted };
    const content = lines(
      call('1', 'a', { at: 1, status: { code: 2 }, attributes: admitted }),
      call('2', 'b', { at: 2, status: { code: 2 }, attributes: interrupted }),
    );
    expect(await callsOf(content)).toEqual(['a ok', 'b error']);
  });

  it('overlap where calls ran at once', async () => {
    const content = lines(call('1', 'a', { at: 1, until: 5 }), call('2', 'b', { at: 2, until: 3 }));
    expect(await told(content)).toEqual([
      'run.started',
      'call.started 1',
      'call.started 2',
      'call.ended 2',
      'call.ended 1',
      'run.ended',
    ]);
  });

  it('of a call that has no length lie in a call none the less, and come one after the other', async () => {
    const content = lines(
      call('inner', 'i', { in: 'outer', at: 1, until: 1 }),
      call('outer', 'o', { at: 1, until: 1 }),
      call('next', 'n', { at: 1, until: 1 }),
    );
    const { reports } = await replayed(content);
    expect(reports).toMatchObject([{ calls: 3, stepCount: 3, figures: { nested: 1, loops: 1 } }]);
  });

  it('lie in a call also where that ends as they begin, and at its end where both end at once', async () => {
    const content = lines(
      call('late', 'l', { in: 'outer', at: 3, until: 3 }),
      call('inner', 'i', { in: 'outer', at: 2, until: 3 }),
      call('outer', 'o', { at: 1, until: 3 }),
    );
    expect(await told(content)).toEqual([
      'run.started',
      'call.started outer',
      'call.started inner',
      'call.ended inner',
      'call.started late',
      'call.ended late',
      'call.ended outer',
      'run.ended',
    ]);
  });

  it('make a run of each trace with anything of an agent in it, and of no other', async () => {
    const content = lines(
      span('1', 'GET', { trace: 'web' }),
      call('1', 'a', { trace: 'x' }),
      span('2', 'chat', { trace: 'y', attributes: { 'gen_ai.operation.name': 'chat' } }),
      span('3', 'GET', { trace: 'x' }),
    );
    const { reports } = await replayed(content);
    expect(reports.map(({ run, calls }) => `${run} ${calls}`)).toEqual(['x 1', 'y 0']);
  });

  it('may be there twice, as exporters send some again: then the last counts', async () => {
    const content = lines(
      call('1', 'a', { until: null }),
      call('2', 'b', { at: 5 }),
      call('1', 'a', { until: 3 }),
    );
    expect(await callsOf(content)).toEqual(['a ok', 'b ok']);
  });

  it('nest a call that lies in a call, however much lies between them', async () => {
    const content = lines(
      call('outer', 'o', { until: 9 }),
      span('between', 'http', { in: 'outer', at: 1, until: 8 }),
      call('inner', 'i', { in: 'between', at: 2 }),
    );
    const { reports } = await replayed(content);
    expect(reports).toMatchObject([{ calls: 2, stepCount: 2, figures: { nested: 1, depth: 0 } }]);
  });

  it('make a child run of an agent that lies in a call, and none of one that lies in an agent', async () => {
    const content = lines(
      agent('root', { until: 20 }),
      agent('handed-over', { in: 'root', at: 1, until: 3 }),
      call('1', 'a', { in: 'handed-over', at: 2 }),
      call('ask', 'ask', { in: 'root', at: 4, until: 9 }),
      agent('sub', { in: 'ask', at: 5, until: 8 }),
      call('2', 'b', { in: 'sub', at: 6 }),
    );
    const { reports } = await replayed(content);
    expect(reports).toMatchObject([{ calls: 3, stepCount: 3, figures: { depth: 1, nested: 0 } }]);
  });

  it('let a sub-agent outlive the call that began it', async () => {
    const content = lines(
      call('ask', 'ask', { until: 2 }),
      agent('sub', { in: 'ask', at: 1, until: 9 }),
      call('1', 'a', { in: 'sub', at: 5 }),
      call('2', 'b', { in: '1', at: 7 }),
    );
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 3, verdict: 'allowed', stepCount: 3, figures: { depth: 1 } }]);
  });

  it('let a sub-agent begin with its first call, where its own clock says that it began later', async () => {
    const content = lines(
      agent('root', { until: 9 }),
      call('1', 'delegate', { in: 'root', at: 1, until: 8 }),
      agent('child', { in: '1', at: 7, until: 8 }),
      call('2', 'search', { in: 'child', at: 3 }),
    );
    expect(await told(content)).toEqual([
      'run.started',
      'call.started 1',
      'run.started',
      'call.started 2',
      'call.ended 2',
      'call.ended 1',
      'run.ended',
    ]);
  });

  it('may lie in a span that is not in the file', async () => {
    expect(await callsOf(lines(call('1', 'a', { in: 'gone' })))).toEqual(['a ok']);
  });

  it('that lie in each other, in a circle, are calls none the less', async () => {
    const content = lines(
      call('1', 'a', { in: '2' }),
      call('2', 'b', { in: '1' }),
      call('3', 'c', { in: '3' }),
      call('4', 'd', { in: '5' }),
      span('5', 'x', { in: '4' }),
      call('6', 'e', { in: '7' }),
      span('7', 'x', { in: '8' }),
      span('8', 'x', { in: '7' }),
    );
    expect((await callsOf(content)).toSorted()).toEqual(['a ok', 'b ok', 'c ok', 'd ok', 'e ok']);
  });

  it('of a call that has not ended have no result: it ends when something begins that does not lie in it', async () => {
    const content = lines(
      call('1', 'a', { until: null }),
      call('2', 'b', { in: '1', at: 1, until: null }),
      call('3', 'c', { in: '1', at: 2 }),
      call('4', 'd', { at: 5 }),
      call('5', 'e', { at: 7, until: null }),
    );
    expect(await callsOf(content)).toEqual(['a none', 'b none', 'c ok', 'd ok', 'e none']);
    expect(await told(content)).toEqual([
      'run.started',
      'call.started 1',
      'call.started 2',
      'call.ended 2',
      'call.started 3',
      'call.ended 3',
      'call.ended 1',
      'call.started 4',
      'call.ended 4',
      'call.started 5',
      'run.ended',
    ]);
  });

  it('of one call that both an agent and its protocol recorded are one call, failed if either says so', async () => {
    const inner = (tool: string, attributes: object, status?: unknown) =>
      call('inner', tool, { in: 'outer', at: 1, until: 2, attributes, status });
    const outer = call('outer', 'a', { until: 9, attributes: { 'gen_ai.tool.call.id': 'c' } });
    const mcp = { 'mcp.method.name': 'tools/call' };
    expect(await callsOf(lines(outer, inner('a', mcp)))).toEqual(['a ok']);
    expect(await callsOf(lines(outer, inner('a', mcp, { code: 'ERROR' })))).toEqual(['a error']);
    expect(await callsOf(lines(outer, inner('a', { 'gen_ai.tool.call.id': 'c' })))).toEqual(['a ok']);
    expect(await callsOf(lines(outer, inner('a', {})))).toEqual(['a ok', 'a ok']);
    expect(await callsOf(lines(outer, inner('b', mcp)))).toEqual(['a ok', 'b ok']);
  });

  it('that are more than can be held are not read, which is told once', () => {
    const file = new SpanFile(2);
    const add = (id: string) => [
      ...file.add('t', { id, parent: undefined, step: undefined, line: 1 }, true, 7),
    ];
    expect([...add('1'), ...add('2')]).toEqual([]);
    expect(add('3')).toEqual([
      { type: 'fault', message: expect.stringContaining('more than 2 spans'), line: 7 },
    ]);
    expect(add('4')).toEqual([]);
  });
});

describe('a span is a call', () => {
  it.each([
    ['of GenAI', 'execute_tool look', { 'gen_ai.operation.name': 'execute_tool' }],
    ['of GenAI, by its name only', 'running tool', { 'gen_ai.tool.name': 'look' }],
    ['of OpenInference', 'x', { 'openinference.span.kind': 'TOOL', 'tool.name': 'look' }],
    [
      'of OpenInference, in objects',
      'x',
      { openinference: { span: { kind: 'TOOL' } }, tool: { name: 'look' } },
    ],
    ['of OpenLLMetry', 'look.tool', { 'traceloop.span.kind': 'tool' }],
    ['of the AI SDK', 'ai.toolCall', { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': 'look' }],
    ['of Langfuse', 'look', { 'langfuse.observation.type': 'tool' }],
  ])('%s', async (_, name, attributes) => {
    expect(await callsOf(lines(span('1', name, { attributes })))).toEqual(['look ok']);
  });

  it.each([
    ['the status of a list', { status: { code: 'ERROR' } }, 'error'],
    ['a good status', { status: { code: 'OK' } }, 'ok'],
    ['the status of OTLP', { status: { code: 2 } }, 'error'],
    ['the status of OTLP, in words', { status: { code: 'STATUS_CODE_ERROR' } }, 'error'],
    ['the status of Python', { status: { status_code: 'ERROR' } }, 'error'],
    ['the status of Phoenix', { more: { status_code: 'ERROR' } }, 'error'],
    ['the type of the error', { attributes: { 'error.type': 'timeout' } }, 'error'],
    ['an exception without a status', { more: { events: [{ name: 'exception' }] } }, 'error'],
    [
      'an exception that was handled',
      { status: { code: 'OK' }, more: { events: [{ name: 'exception' }] } },
      'ok',
    ],
  ])('that has failed by %s', async (_, options, end) => {
    expect(await callsOf(lines(call('1', 'a', options)))).toEqual([`a ${end}`]);
  });

  it('with its id and its arguments', async () => {
    const attributes = { 'gen_ai.tool.call.id': 'c', 'gen_ai.tool.call.arguments': '{"q":1}' };
    const events = await eventsOf(lines(call('1', 'a', { attributes })));
    expect(events[1]).toMatchObject({ callId: 'c', args: { q: 1 }, line: 1 });
  });
});

describe('spans are read', () => {
  const attributes = [
    { key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } },
    { key: 'gen_ai.tool.name', value: { stringValue: 'look' } },
  ];
  const otlp = {
    traceId: 't',
    spanId: '1',
    name: 'x',
    startTimeUnixNano: '1796113228891000000',
    endTimeUnixNano: '1796113228892000000',
    attributes,
  };
  const jaeger = {
    traceID: 't',
    spanID: '2',
    operationName: 'x',
    references: [
      { refType: 'FOLLOWS_FROM', spanID: '9' },
      { refType: 'CHILD_OF', spanID: '1' },
    ],
    startTime: 100,
    duration: 5,
    tags: [
      { key: 'gen_ai.operation.name', value: 'execute_tool' },
      { key: 'gen_ai.tool.name', value: 'look' },
      { key: 'error', value: true },
    ],
  };
  const python = {
    name: 'execute_tool look',
    context: { trace_id: '0x1', span_id: '0x2' },
    parent_id: null,
    start_time: '2026-05-01T10:00:00.123456Z',
    end_time: '2026-05-01T10:00:00.123457Z',
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look' },
  };

  const phoenix = {
    name: 'x',
    span_kind: 'TOOL',
    'context.trace_id': 't',
    'context.span_id': '1',
    parent_id: null,
    start_time: '2026-05-01T10:00:00.123456+00:00',
    end_time: '2026-05-01T10:00:00.223456+00:00',
    status_code: 'ERROR',
    attributes: { tool: { name: 'look' } },
  };

  it.each([
    ['OTLP', { resourceSpans: [{ scopeSpans: [{ spans: [otlp] }] }] }, 'look ok'],
    ['OTLP of Tempo', { batches: [{ instrumentationLibrarySpans: [{ spans: [otlp] }] }] }, 'look ok'],
    ['OTLP in a trace', { trace: { resourceSpans: [{ scopeSpans: [{ spans: [otlp] }] }] } }, 'look ok'],
    ['Jaeger', { data: [{ traceID: 't', spans: [jaeger] }] }, 'look error'],
    ['a trace of Jaeger', { traceID: 't', spans: [jaeger] }, 'look error'],
    ['an object with spans', { spans: [call('1', 'look')] }, 'look ok'],
    ['a list', [call('1', 'look')], 'look ok'],
    ['Python', python, 'look ok'],
    ['Phoenix', phoenix, 'look error'],
  ])('from %s', async (_, value, expected) => {
    expect(await callsOf(JSON.stringify(value))).toEqual([expected]);
  });

  it('in the order of dates that differ by microseconds', async () => {
    const at = (id: string, tool: string, start_time: string) => ({
      ...call(id, tool),
      start_time,
      end_time: null,
    });
    const content = lines(
      at('1', 'b', '2026-05-01T10:00:00.123457Z'),
      at('2', 'a', '2026-05-01T10:00:00.123456Z'),
      at('3', 'd', '2026-05-01T12:00:01Z'),
      at('4', 'c', '2026-05-01T11:00:01.9+00:00'),
    );
    expect((await callsOf(content)).join(' ')).toBe('a none b none c none d none');
  });

  it.each([
    [
      'a span without ids',
      { spans: [call('1', 'a'), { name: 'x' }] },
      'expected a span with its trace and its id',
    ],
    [
      'a call without a start',
      { spans: [call('1', 'a'), { ...call('2', 'b'), start_time: 'now' }] },
      'the span of a call has no start time',
    ],
    [
      'a call without a tool',
      { spans: [call('1', 'a'), call('2', '', { more: { name: 'execute_tool ' } })] },
      'the span of a call without the name of the tool',
    ],
  ])('up to %s, which is told', async (_, value, fault) => {
    expect(await faultsOf(JSON.stringify(value))).toEqual([expect.stringContaining(fault)]);
    expect(await callsOf(JSON.stringify(value))).toEqual(['a ok']);
  });

  it('up to what holds none', async () => {
    expect(await faultsOf(lines(call('1', 'a'), { level: 'info' }))).toEqual([
      '2: expected a span, or an object with "resourceSpans", "data" or "spans", got an object with "level"',
    ]);
  });
});
