import { describe, expect, it } from 'vitest';
import { callsOf, eventsOf, faultsOf, lines, replayed } from '../support.ts';

const observation = (id: string, type: string, name: string, more: object = {}) => ({
  id,
  traceId: 't',
  parentObservationId: null,
  type,
  name,
  startTime: `2026-03-09T12:25:0${id}.000Z`,
  endTime: `2026-03-09T12:25:0${id}.500Z`,
  level: 'DEFAULT',
  metadata: null,
  ...more,
});
const withAttributes = (attributes: object) => ({ metadata: JSON.stringify({ attributes, scope: {} }) });

describe('an export of Langfuse', () => {
  it('has calls by their type, failed by their level', async () => {
    const observations = [
      observation('2', 'TOOL', 'b', { level: 'ERROR' }),
      observation('1', 'TOOL', 'a', { level: 'WARNING' }),
      observation('3', 'GENERATION', 'chat'),
      observation('4', 'TOOL', 'c', { endTime: null }),
    ];
    expect(await callsOf(JSON.stringify({ trace: { id: 't' }, observations }))).toEqual([
      'a ok',
      'b error',
      'c none',
    ]);
  });

  it.each([
    ['its attributes', observation('1', 'SPAN', 'x', withAttributes({ 'gen_ai.tool.name': 'look' }))],
    ['its name', observation('1', 'SPAN', 'tool.look')],
    ['its name, with a type', observation('1', 'TOOL', 'running tool: look')],
    [
      'its output, which is a tool message',
      observation('1', 'SPAN', 'look', {
        output: JSON.stringify({ lc: 1, kwargs: { tool_call_id: 'c', name: 'look', status: 'success' } }),
      }),
    ],
    ['its plain output', observation('1', 'SPAN', 'look', { output: { type: 'tool', tool_call_id: 'c' } })],
  ])('has a call by %s', async (_, value) => {
    expect(await callsOf(lines(value))).toEqual(['look ok']);
  });

  it('has no call where a tool message of another name comes out', async () => {
    const output = { kwargs: { tool_call_id: 'c', name: 'look', status: 'success' } };
    expect(await callsOf(lines(observation('1', 'SPAN', 'tools', { output })))).toEqual([]);
    expect(await callsOf(lines(observation('1', 'CHAIN', 'look', { output })))).toEqual([]);
  });

  it('has a failed call by the status of the tool message', async () => {
    const output = { kwargs: { tool_call_id: 'c', name: 'look', status: 'error' } };
    const events = await eventsOf(lines(observation('1', 'SPAN', 'look', { output })));
    expect(events).toMatchObject([{}, { callId: 'c' }, { ok: false }, {}]);
  });

  it('makes a child run of an agent in a call, and nests a call in a call', async () => {
    const inside = (parentObservationId: string) => ({ parentObservationId });
    const observations = [
      observation('1', 'TOOL', 'ask', { endTime: '2026-03-09T12:25:09.000Z' }),
      observation('2', 'AGENT', 'sub', inside('1')),
      observation('3', 'TOOL', 'a', inside('2')),
      observation('4', 'TOOL', 'b', inside('1')),
    ];
    const { reports } = await replayed(JSON.stringify(observations));
    expect(reports).toMatchObject([{ calls: 3, stepCount: 3, figures: { depth: 1, nested: 1 } }]);
  });

  it('is a run for each trace, even one without observations', async () => {
    const content = lines(
      { id: 'x', name: 'chat', observations: [] },
      { id: 't', observations: [observation('1', 'TOOL', 'a')] },
    );
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports.map(({ run, calls }) => `${run} ${calls}`)).toEqual(['x 0', 't 1']);
  });

  it.each([
    [
      'with the observations in the trace',
      { trace: { id: 't', observations: [observation('1', 'TOOL', 'a')] } },
    ],
    ['as the API gives a page of them', { data: [observation('1', 'TOOL', 'a')], meta: { page: 1 } }],
    [
      'as it is written to a bucket',
      {
        id: '1',
        trace_id: 't',
        type: 'TOOL',
        name: 'a',
        start_time: '2026-03-09 12:25:01.123456',
        end_time: '2026-03-09 12:25:01.223456',
      },
    ],
  ])('is read %s', async (_, value) => {
    expect(await callsOf(JSON.stringify(value))).toEqual(['a ok']);
  });

  it('tells what is no observation, and reads the rest', async () => {
    const good = observation('1', 'TOOL', 'a');
    const { startTime: _, ...timeless } = observation('2', 'TOOL', 'b');
    const content = lines(
      { id: 't', observations: [good, { id: 'x' }, timeless, observation('3', 'TOOL', '')] },
      5,
    );
    expect(await faultsOf(content)).toEqual([
      '1: expected an observation with its id, trace and type, got an object with "id"',
      '1: the observation of a call has no start time',
      '1: the observation of a call without the name of the tool',
      '2: expected an observation, or an object with "observations", got a number',
    ]);
    expect(await callsOf(content)).toEqual(['a ok']);
  });
});
