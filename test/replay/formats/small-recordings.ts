const user = { role: 'user', content: 'hello' };
const otel = (id: string, parent: string | null, start: number, attributes: object) => ({
  trace_id: 't',
  span_id: id,
  parent_span_id: parent,
  name: 'execute_tool look',
  start_time: start,
  end_time: start + 5,
  attributes,
  status: { code: 'OK' },
  events: [{ name: 'exception' }],
});
const tool = {
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': 'look',
  'gen_ai.tool.call.id': 'c',
};
const jaeger = {
  traceID: 'j',
  spanID: '1',
  operationName: 'x',
  references: [{ refType: 'CHILD_OF', traceID: 'j', spanID: '0' }],
  startTime: 5,
  duration: 5,
  tags: [{ key: 'openinference.span.kind', value: 'TOOL' }],
  logs: [{ fields: [{ key: 'event', value: 'exception' }] }],
};
const observation = (id: string, type: string, parentObservationId: string | null) => ({
  id,
  traceId: 't',
  parentObservationId,
  type,
  name: 'look',
  startTime: `2026-03-09T12:25:0${id}.000Z`,
  endTime: '2026-03-09T12:25:09.000Z',
  level: 'DEFAULT',
  input: '{"q":1}',
  output: '{"kwargs":{"tool_call_id":"c","name":"look","status":"error"}}',
  metadata: '{"attributes":{"gen_ai.operation.name":"execute_tool"}}',
});
const sample = (id: number) => ({
  id,
  epoch: 1,
  messages: [
    user,
    { role: 'assistant', tool_calls: [{ id: 'c', function: 'bash', arguments: { cmd: 'ls' } }] },
    { role: 'tool', tool_call_id: 'c', function: 'bash', error: null },
  ],
});
const uses = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] };
const gives = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', is_error: true }] };
const asks = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', function: { name: 'look', arguments: '{}' } }],
};
const exchange = (parsed_body: object, response: object) => ({
  request: { method: 'POST', parsed_body },
  response: { parsed_body: response },
});
const item = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };

/** A small recording of each format of which no framework's is kept: documents, of which each may be a line. */
export const small: Readonly<Record<string, readonly unknown[]>> = {
  phasegate: [
    { type: 'run.started', run: 'r' },
    { type: 'call.started', run: 'r', call: 'c', tool: 'look', args: {} },
    { type: 'call.ended', run: 'r', call: 'c', ok: true },
    { type: 'run.ended', run: 'r' },
  ],
  'claude-code': [
    { type: 'assistant', sessionId: 's', uuid: '1', message: { id: 'm', ...uses } },
    { type: 'user', sessionId: 's', isSidechain: true, uuid: '2', message: { content: 'task' } },
    { type: 'user', sessionId: 's', uuid: '3', parentUuid: '1', message: gives },
  ],
  openclaw: [
    {
      type: 'tool.start',
      sessionKey: 'agent:main:main',
      toolName: 'sessions_spawn',
      params: { task: 'look' },
    },
    { type: 'tool.end', sessionKey: 'agent:main:main', toolName: 'sessions_spawn', success: true },
    { type: 'agent.start', sessionKey: 'agent:main:subagent:x', prompt: 'look' },
    { type: 'tool.start', sessionKey: 'agent:main:subagent:x', toolName: 'exec', params: {} },
  ],
  otel: [
    otel('2', '1', 6, { 'gen_ai.operation.name': 'invoke_agent' }),
    otel('3', '2', 7, { gen_ai: { tool: { name: 'look' } } }),
    otel('1', null, 5, tool),
    { data: [{ traceID: 'j', spans: [jaeger] }] },
  ],
  langfuse: [
    { trace: { id: 't' }, observations: [observation('1', 'TOOL', null), observation('2', 'SPAN', '1')] },
    observation('3', 'AGENT', '2'),
  ],
  inspect: [{ status: 'success', eval: { task: 't' }, samples: [sample(1), sample(2)] }],
  'tau2-bench': [
    {
      info: {},
      simulations: [
        {
          task_id: 'x',
          messages: [
            user,
            {
              role: 'assistant',
              tool_calls: [{ id: 'c', name: 'look', arguments: {}, requestor: 'assistant' }],
            },
            { role: 'tool', id: 'c', requestor: 'assistant', error: false },
          ],
        },
      ],
    },
  ],
  vcr: [
    {
      interactions: [
        exchange({ messages: [user] }, { type: 'message', ...uses }),
        exchange({ messages: [user, uses, gives] }, { choices: [{ message: asks }] }),
        exchange({ model: 'm', input: [user] }, { output: [item] }),
      ],
      version: 1,
    },
  ],
  openai: [{ messages: [user, asks, { role: 'tool', tool_call_id: 'c', content: 'fine' }] }, [user, asks]],
  anthropic: [{ messages: [user, uses, gives] }, [uses, gives]],
};
