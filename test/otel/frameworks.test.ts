import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { createEnforcement, createSupervisor } from '../../src/index.ts';
import { otel } from '../../src/otel/index.ts';
import { gate, outcomeOf } from '../core/helpers.ts';
import { globalTracing } from './support.ts';

const { tracer, tree, span } = globalTracing();

function traced(maxSteps = 50) {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps }) });
  enforcement.on(otel());
  return enforcement;
}

/** Calls a tool as a framework does that opens a span around it. */
function within<T>(name: string, attributes: Attributes, body: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (active) => {
    try {
      return await body();
    } finally {
      active.end();
    }
  });
}

describe('The span that a framework opened for a call', () => {
  test.each<[string, string, Attributes]>([
    [
      'OpenTelemetry',
      'execute_tool search',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' },
    ],
    ['the AI SDK 6', 'ai.toolCall', { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': 'search' }],
    ['OpenInference', 'search', { 'openinference.span.kind': 'TOOL', 'tool.name': 'search' }],
    ['OpenLLMetry', 'search.tool', { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search' }],
    ['a name alone', 'execute_tool search', {}],
  ])('is the one of the call, by %s', async (_, name, attributes) => {
    await traced().withRun((run) =>
      within(name, attributes, () =>
        run.callTool('search', {}, () => {
          tracer.startSpan('GET').end();
        }),
      ),
    );
    expect(tree()).toEqual(['invoke_agent', `  ${name}`, '    GET']);
    expect(span(name).attributes).toMatchObject({
      ...attributes,
      'gen_ai.operation.name': 'execute_tool',
      'phasegate.decision': 'admitted',
      'phasegate.phase.after': 'OBSERVING',
      'phasegate.steps.used': 1,
    });
  });

  test('keeps what the framework wrote', async () => {
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': 'toolu_1',
    };
    await traced().withRun((run) => within('tool', attributes, () => run.callTool('search', {}, () => 1)));
    expect(span('tool').attributes).toMatchObject(attributes);
  });

  test('is the framework’s to end', async () => {
    await traced().withRun((run) =>
      tracer.startActiveSpan('execute_tool search', async (active) => {
        await run.callTool('search', {}, () => 1);
        expect(active.isRecording()).toBe(true);
        active.end();
      }),
    );
  });

  test('tells of a refusal, which is an event of the run too', async () => {
    await traced(0).withRun((run) =>
      within('execute_tool search', {}, () => outcomeOf(run.callTool('search', {}, () => 1))),
    );
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search']);
    expect(span('execute_tool search').status.code).toBe(SpanStatusCode.ERROR);
    expect(span('execute_tool search').attributes).toMatchObject({
      'error.type': 'step-budget',
      'phasegate.decision': 'refused',
    });
    expect(span('invoke_agent').events).toHaveLength(1);
  });

  test('is found also for a call that waited its turn', async () => {
    const first = gate();
    await traced().withRun(async (run) => {
      const call = (tool: string, body: () => unknown) =>
        within(`execute_tool ${tool}`, {}, () => run.callTool(tool, {}, async () => body()));
      const calls = [call('a', () => first.passed), call('b', () => tracer.startSpan('GET').end())];
      first.open();
      await Promise.all(calls);
    });
    expect(tree()).toEqual(['invoke_agent', '  execute_tool a', '  execute_tool b', '    GET']);
  });

  test('is of one call: a second of the same tool in it has a span of its own', async () => {
    await traced().withRun((run) =>
      within('execute_tool search', {}, async () => {
        await run.callTool('search', {}, () => 1);
        await run.callTool('search', {}, () => 2);
      }),
    );
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search', '    execute_tool search']);
  });

  test('of another tool is none of the call', async () => {
    await traced().withRun((run) =>
      within('execute_tool search', {}, () => run.callTool('read', {}, () => 1)),
    );
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search', '    execute_tool read']);
  });

  test('that has ended is none either', async () => {
    await traced().withRun((run) =>
      tracer.startActiveSpan('execute_tool search', (active) => {
        active.end();
        return run.callTool('search', {}, () => 1);
      }),
    );
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search', '    execute_tool search']);
  });
});

test('The span of a framework’s agent lies in the run', async () => {
  await traced().withRun((run) =>
    within('invoke_agent researcher', { 'gen_ai.operation.name': 'invoke_agent' }, () =>
      run.callTool('search', {}, () => 1),
    ),
  );
  expect(tree()).toEqual(['invoke_agent', '  invoke_agent researcher', '    execute_tool search']);
});
