import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, listOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { type Attributes, attributesOf, callBy, kindBy } from './span-attributes.ts';
import type { Step } from './span-tree.ts';
import { SpanFile } from './spans.ts';

/**
 * Spans of OpenTelemetry, by the conventions of GenAI and of OpenInference: as OTLP, as Jaeger and Tempo give them out, or
 * as a list. A trace is a run. A span that executes a tool is a call, from its start to its end; it failed where its
 * status is an error, where it has an `error.type`, or where an exception is recorded and no status. One that `phasegate/otel`
 * tells was refused is replayed as a call that was asked for and has no result; one that was interrupted counts, as it did.
 */
export const otel: TraceFormat = {
  name: 'otel',
  description: 'OpenTelemetry spans of agents, GenAI or OpenInference: OTLP, Jaeger, or a list',
  detect: (value): Likelihood => (spansIn(value) === undefined ? 'no' : 'yes'),
  async *read(source) {
    const file = new SpanFile();
    for await (const items of source.values()) yield readItems(items, (item) => readValue(file, item));
    yield* file.end();
  },
};

type SpanFields = Fields<
  | 'traceId'
  | 'trace_id'
  | 'traceID'
  | 'spanId'
  | 'span_id'
  | 'spanID'
  | 'parentSpanId'
  | 'parent_span_id'
  | 'parentSpanID'
  | 'parent_id'
  | 'references'
  | 'context'
  | 'context.trace_id'
  | 'context.span_id'
  | 'name'
  | 'operationName'
  | 'startTimeUnixNano'
  | 'start_time_unix_nano'
  | 'endTimeUnixNano'
  | 'end_time_unix_nano'
  | 'startTime'
  | 'start_time'
  | 'endTime'
  | 'end_time'
  | 'duration'
  | 'attributes'
  | 'tags'
  | 'status'
  | 'status_code'
  | 'span_kind'
  | 'events'
  | 'span_events'
  | 'logs'
>;

type Group = Fields<
  | 'scopeSpans'
  | 'scope_spans'
  | 'instrumentationLibrarySpans'
  | 'spans'
  | 'resourceSpans'
  | 'resource_spans'
  | 'batches'
>;

// The spans that a value holds; `undefined` for what holds none, nor can.
function spansIn(value: unknown): readonly unknown[] | undefined {
  if (isSpan(value)) return [value];
  const record = fieldsOf<keyof Group | 'data' | 'trace'>(value);
  if (record === undefined) return undefined;
  const exported = fieldsOf<keyof Group>(record.trace) ?? record;
  const resources = exported.resourceSpans ?? exported.resource_spans ?? exported.batches;
  if (Array.isArray(resources)) return spansOfResources(resources, resources !== exported.batches);
  if (isSpanList(record.spans)) return record.spans;
  const traces = listOf(record.data).map((trace) => fieldsOf<'spans'>(trace)?.spans);
  return traces.some(isSpanList) ? traces.flatMap(listOf) : undefined;
}

function spansOfResources(resources: readonly unknown[], isSure: boolean): readonly unknown[] | undefined {
  const groups = resources.map((resource) => {
    const group = fieldsOf<keyof Group>(resource);
    return group?.scopeSpans ?? group?.scope_spans ?? group?.instrumentationLibrarySpans;
  });
  if (!isSure && !groups.some(Array.isArray)) return undefined;
  return groups.flatMap(listOf).flatMap((scope) => listOf(fieldsOf<'spans'>(scope)?.spans));
}

function isSpanList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.some(isSpan);
}

// Lines of other logs name their trace and span as well.
function isSpan(value: unknown): value is SpanFields {
  if (idsOf(value) === undefined) return false;
  const span = value as SpanFields;
  return nameOf(span.name ?? span.operationName) !== undefined && startOf(span) !== undefined;
}

function startOf(span: SpanFields): number | undefined {
  return timeOf(span.startTimeUnixNano ?? span.start_time_unix_nano ?? span.startTime ?? span.start_time);
}

function idsOf(value: unknown): { trace: string; id: string } | undefined {
  const span = fieldsOf<keyof SpanFields>(value);
  if (span === undefined) return undefined;
  const context = fieldsOf<'trace_id' | 'span_id' | 'traceId' | 'spanId'>(span.context);
  const trace = nameOf(
    span.traceId ??
      span.trace_id ??
      span.traceID ??
      span['context.trace_id'] ??
      context?.trace_id ??
      context?.traceId,
  );
  const id = nameOf(
    span.spanId ??
      span.span_id ??
      span.spanID ??
      span['context.span_id'] ??
      context?.span_id ??
      context?.spanId,
  );
  return trace === undefined || id === undefined ? undefined : { trace, id };
}

function* readValue(file: SpanFile, { value, line }: JsonValue): Generator<TraceEvent> {
  const spans = spansIn(value);
  if (spans === undefined) {
    const message = `expected a span, or an object with "resourceSpans", "data" or "spans", got ${kindOf(value)}`;
    yield { type: 'fault', message, line };
    return;
  }
  for (const span of spans) yield* readSpan(file, span, line);
}

function* readSpan(file: SpanFile, value: unknown, line: number): Generator<TraceEvent> {
  const ids = idsOf(value);
  if (ids === undefined) {
    yield { type: 'fault', message: `expected a span with its trace and its id, got ${kindOf(value)}`, line };
    return;
  }
  const span = value as SpanFields;
  const attributes = attributesOf(span.attributes ?? span.tags);
  const step = stepOf(span, attributes);
  if (typeof step === 'string') yield { type: 'fault', message: step, line };
  const placed = {
    id: ids.id,
    parent: parentOf(span),
    step: typeof step === 'string' ? undefined : step,
    line,
  };
  yield* file.add(ids.trace, placed, attributes.ofAgent || step !== undefined, line);
}

// What the span is to a replay, or what is wrong with it.
function stepOf(span: SpanFields, attributes: Attributes): Step | string | undefined {
  // Some lists have the kind besides the attributes.
  const listed = String(span.span_kind ?? '').toLowerCase();
  const kind = kindBy(attributes) ?? (listed === 'tool' ? 'call' : listed === 'agent' ? 'agent' : undefined);
  if (kind === undefined) return undefined;
  const name = span.name ?? span.operationName;
  const start = startOf(span);
  if (start === undefined) return `the span of ${kind === 'call' ? 'a call' : 'an agent'} has no start time`;
  if (kind === 'agent') return { kind, start };
  const call = callBy(attributes, name);
  if (call.tool === undefined) return 'the span of a call without the name of the tool';
  const end = timeOf(span.endTimeUnixNano ?? span.end_time_unix_nano ?? span.endTime ?? span.end_time);
  const until = end ?? (typeof span.duration === 'number' ? start + span.duration : undefined);
  return {
    kind,
    start,
    // Clocks of two machines may differ.
    end: until === undefined ? undefined : Math.max(start, until),
    ...call,
    tool: call.tool,
    ok: outcomeOf(span, attributes),
  };
}

function parentOf(span: SpanFields): string | undefined {
  const references = listOf(span.references).map((reference) => fieldsOf<'refType' | 'spanID'>(reference));
  const reference = references.find((one) => one?.refType === 'CHILD_OF') ?? references[0];
  return nameOf(
    span.parentSpanId ?? span.parent_span_id ?? span.parentSpanID ?? span.parent_id ?? reference?.spanID,
  );
}

/** A point in time that is recorded as a number, as a number in a string, or as a date; `undefined` for none. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value > 0 ? value : undefined;
  if (typeof value !== 'string' || value === '') return undefined;
  if (/^\d+$/.test(value)) return timeOf(Number(value));
  // A date is read to the millisecond; recorders write microseconds.
  const [, fraction = ''] = /\.(\d+)/.exec(value) ?? [];
  const seconds = Date.parse(value.replace(/\.\d+/, ''));
  return Number.isNaN(seconds) ? undefined : seconds * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

/** Whether a call ended well; `null` for one that has no result. */
function outcomeOf(span: SpanFields, attributes: Attributes): boolean | null {
  const decision = attributes.get('phasegate.decision');
  if (decision === 'refused') return null;
  const interrupted = decision === 'admitted' && attributes.get('error.type') === 'interrupted';
  return interrupted || !hasFailed(span, attributes);
}

function hasFailed(span: SpanFields, { get }: Attributes): boolean {
  const status = fieldsOf<'code' | 'status_code'>(span.status);
  const code =
    status?.code ?? status?.status_code ?? span.status ?? span.status_code ?? get('otel.status_code');
  const word = String(code ?? '')
    .replace(/^STATUS_CODE_/i, '')
    .toUpperCase();
  if (word === 'ERROR' || code === 2 || get('error') === true || get('error') === 'true') return true;
  if (get('error.type') !== undefined) return true;
  return word !== 'OK' && code !== 1 && hasException(span);
}

function hasException(span: SpanFields): boolean {
  return [span.events, span.span_events, span.logs].flatMap(listOf).some((value) => {
    const event = fieldsOf<'name' | 'fields'>(value);
    return event?.name === 'exception' || attributesOf(event?.fields).get('event') === 'exception';
  });
}
