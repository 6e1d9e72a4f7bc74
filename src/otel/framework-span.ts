import { type Context, type Span, trace } from '@opentelemetry/api';

/**
 * The span of a call that a framework has opened around it, if that is the active one. The API only writes spans; those of
 * the SDK can be read as well.
 */
export function frameworkSpan(around: Context, tool: string): Span | undefined {
  const span = trace.getSpan(around) as (Span & Partial<Readable>) | undefined;
  if (span === undefined || !span.isRecording()) return undefined;
  const { name, attributes } = span;
  if (typeof attributes !== 'object' || attributes === null) return undefined;
  const isOfTool =
    TOOL_NAMES.some(([kind, value, key]) => attributes[kind] === value && attributes[key] === tool) ||
    name === `execute_tool ${tool}`;
  return isOfTool ? span : undefined;
}

/** What of a span of the SDK is looked at. */
interface Readable {
  readonly name: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Which attributes the span lacks of these. */
export function lacking<T extends object>(span: Span, attributes: T): Partial<T> {
  const there = (span as Span & Readable).attributes;
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !(key in there))) as Partial<T>;
}

// By what a span is known for one of a tool call, and the attribute that names the tool: as OpenTelemetry, the AI SDK 6,
// OpenInference and OpenLLMetry write them.
const TOOL_NAMES = [
  ['gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name'],
  ['ai.operationId', 'ai.toolCall', 'ai.toolCall.name'],
  ['openinference.span.kind', 'TOOL', 'tool.name'],
  ['traceloop.span.kind', 'tool', 'traceloop.entity.name'],
] as const;
