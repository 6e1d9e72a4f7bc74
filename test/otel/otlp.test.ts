import { context, trace } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createEnforcement, createMonitor, createSupervisor, type Run } from '../../src/index.ts';
import { otel } from '../../src/otel/index.ts';
import { Driver } from '../../src/replay/driver.ts';
import { readEvents } from '../../src/replay/read-events.ts';
import { drivable } from '../../src/replay/replay.ts';
import { outcomeOf } from '../core/helpers.ts';
import { lines, stream } from '../replay/support.ts';
import { collector } from './collector.ts';
import { only } from './support.ts';

let backend: Awaited<ReturnType<typeof collector>>;
let tracing: NodeTracerProvider;

beforeAll(async () => {
  backend = await collector();
  const exporter = new OTLPTraceExporter({ url: backend.url('/v1/traces') });
  tracing = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  tracing.register();
});

afterEach(spansReceived);

afterAll(async () => {
  await tracing.shutdown();
  await backend.close();
  trace.disable();
  context.disable();
});

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[];
  readonly status: { readonly code: number };
}

async function spansReceived(): Promise<OtlpSpan[]> {
  await tracing.forceFlush();
  return backend
    .take('/v1/traces')
    .flatMap((body) => JSON.parse(body).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .filter(({ scope }) => scope.name === 'phasegate')
    .flatMap(({ spans }) => spans);
}

test('A collector gets the spans of a run', async () => {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
  enforcement.on(otel({ agentName: 'researcher', captureArguments: true }));
  await enforcement.withRun(async (run) => {
    await run.callTool('search', { q: 'xstate' }, () => 1);
    await outcomeOf(run.callTool('read', {}, () => 2));
  });
  const spans = await spansReceived();
  expect(spans.map(({ name }) => name)).toEqual([
    'execute_tool search',
    'execute_tool read',
    'invoke_agent researcher',
  ]);
  const [search, read, run] = spans;
  expect([search?.parentSpanId, read?.parentSpanId]).toEqual([run?.spanId, run?.spanId]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  // INTERNAL is 1, and of a status 0 is unset and 2 an error.
  expect(spans.map(({ kind, status }) => [kind, status.code])).toEqual([
    [1, 0],
    [1, 2],
    [1, 0],
  ]);
  expect(search?.attributes).toContainEqual({
    key: 'gen_ai.tool.call.arguments',
    value: { stringValue: '{"q":"xstate"}' },
  });
  expect(read?.attributes).toContainEqual({ key: 'error.type', value: { stringValue: 'step-budget' } });
  expect(run?.attributes).toContainEqual({ key: 'phasegate.steps.left', value: { intValue: 0 } });
});

test('A collector gets the metrics', async () => {
  const exporter = new OTLPMetricExporter({ url: backend.url('/v1/metrics') });
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
  enforcement.on(otel({ meterProvider }));
  await enforcement.withRun(async (run) => {
    const calls = ['search', 'search'].map((tool) => outcomeOf(run.callTool(tool, {}, () => 1)));
    await Promise.all(calls);
  });
  await meterProvider.shutdown();
  const body = JSON.parse(only(backend.take('/v1/metrics')));
  const metrics = only(only<{ scopeMetrics: { metrics: unknown[] }[] }>(body.resourceMetrics).scopeMetrics)
    .metrics as { name: string; unit: string; sum?: { isMonotonic: boolean } }[];
  expect(metrics.map(({ name, unit, sum }) => [name, unit, sum?.isMonotonic])).toEqual([
    ['phasegate.calls', '{call}', true],
    ['phasegate.refusals', '{call}', true],
    ['phasegate.steps.left', '{step}', undefined],
    ['phasegate.wait.duration', 's', undefined],
    ['phasegate.decision.duration', 's', undefined],
  ]);
});

// —— And back again ——

/** What an agent does. */
type Op =
  | {
      readonly do: 'call';
      readonly tool: string;
      readonly ok: boolean;
      readonly body: readonly Op[];
      readonly together: boolean;
    }
  | { readonly do: 'child'; readonly body: readonly Op[] };

// A check refuses what is denied: the same one in a replay.
const TOOLS = ['search', 'read', 'write', 'denied'];

/** What is done in a body; `levels` deep. */
function ops(levels: number): fc.Arbitrary<readonly Op[]> {
  const body = levels === 0 ? fc.constant([]) : ops(levels - 1);
  const call: fc.Arbitrary<Op> = fc.record({
    do: fc.constant('call' as const),
    tool: fc.constantFrom(...TOOLS),
    ok: fc.constantFrom(true, true, true, false),
    body,
    together: fc.boolean(),
  });
  const child: fc.Arbitrary<Op> = fc.record({ do: fc.constant('child' as const), body });
  return fc.array(fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: child }), {
    maxLength: 4,
    size: 'max',
  });
}

const program = fc.record({
  maxSteps: fc.integer({ min: 0, max: 10 }),
  maxLoopsPerPhase: fc.integer({ min: 0, max: 4 }),
  parallel: fc.constantFrom('serialize' as const, 'concurrent' as const),
  onBudgetExhausted: fc.constantFrom('deny' as const, 'terminate' as const),
  checked: fc.boolean(),
  agent: ops(3),
  together: fc.boolean(),
});

function enforcementOf(settings: Settings) {
  const { maxSteps, maxLoopsPerPhase, parallel, onBudgetExhausted, checked } = settings;
  const supervisor = createSupervisor({ maxSteps, maxLoopsPerPhase, onBudgetExhausted });
  const check = ({ tool }: { tool: string }) => (tool === 'denied' ? refused : allowed);
  const checks = checked ? [{ name: 'policy', check }] : [];
  return { monitor: createMonitor(undefined, { dfaSupervisor: supervisor, checks }), parallel };
}

type Settings = Omit<typeof program extends fc.Arbitrary<infer P> ? P : never, 'agent' | 'together'>;

const allowed = { allowed: true } as const;
const refused = { allowed: false, code: 'policy', message: 'Denied' } as const;

describe('What is exported', { timeout: 60_000 }, () => {
  test('is replayed to the decisions that were made', async () => {
    await fc.assert(
      fc.asyncProperty(program, async ({ agent, together, ...settings }) => {
        const options = enforcementOf(settings);
        const enforcement = createEnforcement(options);
        const live = decisionsOf(enforcement);
        enforcement.on(otel({ tracerProvider: tracing, captureArguments: true }));
        const left: Promise<void>[] = [];
        const perform = async (run: Run, all: readonly Op[], atOnce: boolean): Promise<void> => {
          // A check takes time in which calls are decided that were asked for later: a trace tells when each was decided.
          if (atOnce && !settings.checked) await Promise.all(all.map((op) => act(run, op)));
          else for (const op of all) await act(run, op);
        };
        const act = async (run: Run, op: Op): Promise<void> => {
          if (op.do === 'child') {
            // A child run that its parent ends has an agent that goes on.
            const agent = enforcement.withRun((child) => {
              const performed = perform(child, op.body, false);
              left.push(performed);
              return performed;
            });
            await agent.catch(() => {});
          } else {
            await run
              .callTool(op.tool, { of: op.tool }, async () => {
                await perform(run, op.body, op.together);
                if (!op.ok) throw new Error('the tool failed');
              })
              .catch(() => {});
          }
        };
        // Only what lies in a body is a child run to those who read traces.
        const outermost = agent.filter((op) => op.do === 'call');
        await enforcement.withRun((run) => perform(run, outermost, together));
        await Promise.all(left);

        const exported = lines({ resourceSpans: [{ scopeSpans: [{ spans: await spansReceived() }] }] });
        const driven = drivable(options);
        const { enforcement: again } = driven;
        const replayed = decisionsOf(again);
        const faults: string[] = [];
        const driver = new Driver({
          ...driven,
          all: true,
          file: 'exported',
          place: (line) => ({ file: 'exported', line }),
          onFault: ({ message }) => faults.push(message),
        });
        for await (const events of readEvents(stream(exported), undefined)) await driver.push(events);
        await driver.end();
        expect(faults).toEqual([]);
        expect(replayed()).toEqual(live());
      }),
    );
  });
});

/** What an enforcement decides from now on, in order, and where its runs end, which a trace tells of the outermost only. */
function decisionsOf(enforcement: ReturnType<typeof createEnforcement>) {
  const decisions: string[] = [];
  const ends: string[] = [];
  enforcement.on((event) => {
    if (event.type === 'call.started') decisions.push(`${event.tool}: admitted at ${event.stepCount}`);
    else if (event.type === 'call.refused') decisions.push(`${event.tool}: ${event.code}`);
    else if (event.type === 'run.ended') ends.push(`${event.phase} after ${event.stepCount}`);
  });
  return () => ({ decisions, ends: ends.toSorted() });
}
