import { context, type MeterProvider, type TracerProvider, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterEach, describe, expect, test } from 'vitest';
import { createEnforcement, createSupervisor, type PhasegateEvent } from '../../src/index.ts';
import { type OtelOptions, otel } from '../../src/otel/index.ts';
import { outcomeOf, refusalOf } from '../core/helpers.ts';
import { metering } from './support.ts';

afterEach(() => {
  trace.disable();
  context.disable();
});

/** Runs an agent, and says what came of it and what another listener heard. */
async function behaviour(options?: OtelOptions) {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 3 }) });
  if (options !== undefined) enforcement.on(otel(options));
  const heard: PhasegateEvent['type'][] = [];
  enforcement.on(({ type }) => heard.push(type));
  let bodies = 0;
  const answers = await enforcement.withRun(async (run) => {
    const inner = enforcement.tool('inner', async () => `inner ${++bodies}`);
    const nested = await run.callTool('outer', {}, async () => [`outer ${++bodies}`, await inner()]);
    const failed = await outcomeOf(run.callTool('fails', {}, () => Promise.reject(new Error('boom'))));
    await run.callTool('last', {}, () => ++bodies);
    return [nested, failed, (await refusalOf(run.callTool('more', {}, () => ++bodies))).code];
  });
  return { heard, answers, bodies };
}

function boom(): never {
  throw new Error('telemetry is broken');
}

const broken = (name: keyof SpanProcessor): TracerProvider => {
  const processor = new SimpleSpanProcessor(new InMemorySpanExporter());
  Object.defineProperty(processor, name, { value: boom });
  return new NodeTracerProvider({ spanProcessors: [processor] });
};

const brokenSpan = () => new Proxy({}, { get: () => boom }) as never;
const brokenTracer = { getTracer: () => ({ startSpan: brokenSpan }) } as unknown as TracerProvider;

describe('Telemetry that fails changes nothing', () => {
  test.each<[string, OtelOptions]>([
    ['a processor that throws when a span begins', { tracerProvider: broken('onStart') }],
    ['a processor that throws when a span ends', { tracerProvider: broken('onEnd') }],
    ['spans that throw at every touch', { tracerProvider: brokenTracer }],
    ['a meter that throws', { meterProvider: { getMeter: boom } }],
    [
      'instruments that throw',
      { meterProvider: { getMeter: () => new Proxy({}, { get: boom }) } as unknown as MeterProvider },
    ],
    ['functions of the user’s that throw', { agentName: boom, conversationId: boom, captureArguments: boom }],
  ])('%s', async (_, options) => {
    expect(await behaviour(options)).toEqual(await behaviour());
  });

  test('a context manager that throws', async () => {
    context.setGlobalContextManager({
      active: boom,
      with: boom,
      bind: boom,
      enable: () => undefined as never,
      disable: () => undefined as never,
    });
    expect(await behaviour({})).toEqual(await behaviour());
  });

  test('no SDK at all', async () => {
    expect(await behaviour({})).toEqual(await behaviour());
  });
});

test.each(['onStart', 'onEnd'] as const)(
  'A processor that throws in %s does not take the metrics with it',
  async (name) => {
    const { provider, read } = metering();
    await behaviour({ tracerProvider: broken(name), meterProvider: provider });
    const { points } = await read('phasegate.calls');
    expect(points.reduce((sum, { value }) => sum + Number(value), 0)).toBe(5);
  },
);

test.each(['setAttribute', 'setAttributes', 'setStatus', 'addEvent', 'isRecording'])(
  'A span whose %s throws is ended all the same',
  async (broken) => {
    const open = new Set<object>();
    const startSpan = () => {
      const span: object = {
        isRecording: () => true,
        setAttribute: () => {},
        setAttributes: () => {},
        setStatus: () => {},
        addEvent: () => {},
        end: () => open.delete(span),
        [broken]: boom,
      };
      open.add(span);
      return span;
    };
    await behaviour({
      captureArguments: true,
      tracerProvider: { getTracer: () => ({ startSpan }) } as unknown as TracerProvider,
    });
    expect(open.size).toBe(0);
  },
);

test('One span that cannot end does not keep the others from it', async () => {
  const exporter = new InMemorySpanExporter();
  const failing: SpanProcessor = {
    onStart: () => {},
    onEnd: ({ name }) => (name === 'execute_tool first' ? boom() : undefined),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const tracerProvider = new NodeTracerProvider({
    spanProcessors: [failing, new SimpleSpanProcessor(exporter)],
  });
  const enforcement = createEnforcement({ parallel: 'concurrent' });
  enforcement.on(otel({ tracerProvider }));
  const run = enforcement.beginRun();
  await run.beforeCall('first');
  await run.beforeCall('second');
  run.finish();
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    'execute_tool second',
    'invoke_agent',
  ]);
});

describe('Options that cannot be used are refused', () => {
  test.each<[string, object]>([
    ['There is no option "agent" of otel', { agent: 'x' }],
    ['tracerProvider must be a TracerProvider, got an object', { tracerProvider: {} }],
    ['tracerProvider must be a TracerProvider, got null', { tracerProvider: null }],
    ['meterProvider must be a MeterProvider, got "x"', { meterProvider: 'x' }],
    ['agentName must be a string or a function, got 7', { agentName: 7 }],
    ['conversationId must be a function, got "c"', { conversationId: 'c' }],
    ['captureArguments must be true, false or a function, got "all"', { captureArguments: 'all' }],
    ['maxNames must be a whole number of 0 or more, or Infinity, got -1', { maxNames: -1 }],
    ['The options of otel must be an object', null as never],
  ])('%s', (message, options) => {
    expect(() => otel(options)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    expect(() => otel(options)).toThrow(message);
  });
});
