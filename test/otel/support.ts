import { context, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeEach } from 'vitest';

/** The global SDK of a file of tests, and the spans that have ended since the present test began. */
export function globalTracing() {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  beforeEach(() => exporter.reset());
  afterAll(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  });
  return {
    tracer: trace.getTracer('test'),
    forget: () => exporter.reset(),
    spans: () => exporter.getFinishedSpans().toSorted(byStart),
    span: (name: string) => only(exporter.getFinishedSpans().filter((span) => span.name === name)),
    tree: () => treeOf(exporter.getFinishedSpans().toSorted(byStart)),
  };
}

/** Metrics of the real SDK, read when they are asked for. */
export function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const provider = new MeterProvider({ readers: [reader] });
  /** The points of a metric, and how it is described. */
  const read = async (name: string) => {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    const metric = all.find(({ descriptor }) => descriptor.name === name);
    return { unit: metric?.descriptor.unit, points: metric?.dataPoints ?? [] };
  };
  return { provider, read };
}

/** The names of spans, each below the one that it lies in. */
function treeOf(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, indent: string): string[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return (id !== undefined && ids.has(id) ? id : undefined) === parent;
      })
      .flatMap((span) => [`${indent}${span.name}`, ...below(span.spanContext().spanId, `${indent}  `)]);
  return below(undefined, '');
}

export function only<T>(found: readonly T[]): T {
  if (found.length !== 1) throw new Error(`expected one, found ${found.length}`);
  return found[0] as T;
}

function byStart(a: ReadableSpan, b: ReadableSpan): number {
  return a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1];
}
