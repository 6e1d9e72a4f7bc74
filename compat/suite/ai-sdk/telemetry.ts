import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { otel } from 'phasegate/otel';
import { beforeEach, describe, expect, it } from 'vitest';
import { times, turns } from '../world.ts';
import type { Version } from './model.ts';
import { Stage } from './stage.ts';

/** What the telemetry of this version is called. */
export interface Telemetry {
  /** The settings that turn it on. */
  readonly settings: object;
  /** The span of a call. */
  readonly call: string;
}

const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

/** The framework's own spans and those of `phasegate/otel`, in one trace. */
export function describeTelemetry(version: Version, { settings, call }: Telemetry): void {
  const { ai } = version;

  beforeEach(() => exporter.reset());

  async function spansOf(calls: number, search: () => unknown): Promise<ReadableSpan[]> {
    const stage = new Stage(version);
    stage.world.enforcement.on(otel({ agentName: 'finder' }));
    const script = turns(times(calls, 'search'));
    await stage.gate().agent(ai['generateText'])({ ...stage.settings(script, search), ...settings });
    stage.world.expectSound();
    return exporter.getFinishedSpans();
  }

  const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);

  describe('with the telemetry of the AI SDK', () => {
    it('all spans are one trace, which begins with the run', async () => {
      const spans = await spansOf(2, () => 'found');
      const [run, ...others] = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined);
      expect([run?.name, others]).toEqual(['invoke_agent finder', []]);
      expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    });

    it('the span that it opens for a call is that of the call, and there is no second one', async () => {
      const spans = await spansOf(2, () => 'found');
      const ofTools = spans.filter(
        ({ attributes }) => attributes['gen_ai.operation.name'] === 'execute_tool',
      );
      expect(ofTools.map(({ name }) => name)).toEqual([call, call]);
      for (const { attributes } of ofTools) {
        expect(attributes).toMatchObject({
          'gen_ai.tool.name': 'search',
          'phasegate.decision': 'admitted',
          'phasegate.phase.after': 'OBSERVING',
        });
      }
      const ids = ofTools.map(({ attributes }) => attributes['gen_ai.tool.call.id']);
      expect(ids.sort()).toEqual(['asked-1', 'asked-2']);
    });

    it('a stream is traced as its pieces are made', async () => {
      const stage = new Stage(version);
      stage.world.enforcement.on(otel({ agentName: 'finder' }));
      const script = turns(times(2, 'search'));
      const streamText = stage.gate().agent(ai['streamText']);
      const result = streamText({ ...stage.settings(script, () => 'found'), ...settings });
      expect(await result.text).toBe('done');
      const spans = exporter.getFinishedSpans();
      expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
      expect(named(spans, call).map(({ attributes }) => attributes['phasegate.decision'])).toEqual([
        'admitted',
        'admitted',
      ]);
      expect(spans.filter(({ name }) => name.startsWith('execute_tool') && name !== call)).toEqual([]);
    });

    it('a refusal is told in the span of its call, and in that of the run', async () => {
      const spans = await spansOf(4, () => 'found');
      const decisions = named(spans, call).map(({ attributes }) => attributes['phasegate.decision']);
      expect(decisions.sort()).toEqual(['admitted', 'admitted', 'admitted', 'refused']);
      const refused = spans.find(({ attributes }) => attributes['phasegate.decision'] === 'refused');
      expect(refused?.attributes).toMatchObject({ 'error.type': 'step-budget', 'phasegate.steps.left': 0 });
      const [run] = named(spans, 'invoke_agent finder');
      expect(run?.events.map(({ name }) => name)).toEqual(['phasegate.refusal']);
    });
  });

  it('without the telemetry of the AI SDK each call has a span of its own', async () => {
    const stage = new Stage(version);
    stage.world.enforcement.on(otel());
    const script = turns(times(2, 'search'));
    await stage.gate().agent(ai['generateText'])({
      ...stage.settings(script, () => 'found'),
      telemetry: { isEnabled: false },
    });
    const names = exporter.getFinishedSpans().map(({ name }) => name);
    expect(names).toEqual(['execute_tool search', 'execute_tool search', 'invoke_agent']);
  });
}
