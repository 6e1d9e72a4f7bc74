import { context, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import type { PhasegateEvent } from '../../src/index.ts';
import { otel } from '../../src/otel/index.ts';
import { program, World } from '../core/program.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

const exporter = new InMemorySpanExporter();
let open = new Set<string>();
const counting = {
  onStart: (span: ReadableSpan) => open.add(span.spanContext().spanId),
  onEnd: (span: ReadableSpan) => open.delete(span.spanContext().spanId),
  forceFlush: async () => {},
  shutdown: async () => {},
};
const provider = new NodeTracerProvider({ spanProcessors: [counting, new SimpleSpanProcessor(exporter)] });
provider.register();

afterAll(() => {
  trace.disable();
  context.disable();
});

test('Whatever runs and calls do, each has one span, which has ended when its run has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), program, async (s, program) => {
      exporter.reset();
      open = new Set();
      const observer = otel();
      const events: PhasegateEvent[] = [];
      const world = new World(s, program, {
        ...observer,
        listen(event) {
          events.push(event);
          observer.listen(event);
        },
      });
      await world.run();
      expect(world.faults).toEqual([]);
      expect(open.size).toBe(0);

      const spans = exporter.getFinishedSpans();
      const told = (type: PhasegateEvent['type']) => events.filter((event) => event.type === type);
      const decided = (decision: string) =>
        spans.filter(({ attributes }) => attributes['phasegate.decision'] === decision);
      expect(spans.filter(({ name }) => name === 'invoke_agent')).toHaveLength(told('run.started').length);
      expect(decided('admitted')).toHaveLength(told('call.started').length);
      expect(decided('refused')).toHaveLength(told('call.refused').length);
      const places = placesTold(events);
      expect(placesOf(spans).filter(([id]) => places.has(id))).toEqual([...places]);
    }),
  );
});

/** Of each call that was admitted, in order, in what its span lies. */
function placesOf(spans: readonly ReadableSpan[]): [id: unknown, place: unknown][] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  return spans
    .filter(({ attributes }) => attributes['phasegate.decision'] === 'admitted')
    .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
    .map((span) => {
      const parent = byId.get(span.parentSpanContext?.spanId ?? '');
      return [idOf(span), parent && idOf(parent)];
    });
}

function idOf({ attributes }: ReadableSpan): unknown {
  return attributes['gen_ai.tool.call.id'] ?? attributes['phasegate.run.id'];
}

/** The same as events tell it; without calls of which the one that made them had ended before they were admitted. */
function placesTold(events: readonly PhasegateEvent[]): Map<unknown, unknown> {
  const inFlight = new Set<string>();
  const places = new Map<unknown, unknown>();
  for (const event of events) {
    if (event.type === 'call.started') {
      inFlight.add(event.call);
      if (event.parent === null || inFlight.has(event.parent)) {
        places.set(event.call, event.parent ?? event.run);
      }
    } else if (event.type === 'call.ended') inFlight.delete(event.call);
  }
  return places;
}
