import { fieldsOf, listOf, nameOf } from '../json.ts';
import { parsed } from './results.ts';

/** The attributes of a span, by their names. */
export interface Attributes {
  get(name: string): unknown;
  /** Whether any of them shows that the span was made by an agent. */
  readonly ofAgent: boolean;
}

/**
 * Attributes in any of the ways in which they are written down: as a list of keys with values (OTLP, Jaeger), as an object
 * with dotted keys, or as objects inside of each other.
 */
export function attributesOf(value: unknown): Attributes {
  if (Array.isArray(value)) {
    const values = new Map<string, unknown>();
    for (const entry of listOf(value)) {
      const pair = fieldsOf<'key' | 'value'>(entry);
      if (typeof pair?.key === 'string') values.set(pair.key, plainValue(pair.value));
    }
    return { get: (name) => values.get(name), ofAgent: [...values.keys()].some(isOfAgent) };
  }
  const record = fieldsOf<string>(value) ?? {};
  return { get: (name) => lookUp(record, name), ofAgent: Object.keys(record).some(isOfAgent) };
}

// The conventions that are about agents and models: OpenTelemetry's, OpenInference's, and those of some libraries.
function isOfAgent(key: string): boolean {
  return /^(gen_ai|openinference|llm|traceloop|ai|langfuse|langsmith)(\.|$)/.test(key);
}

function lookUp(record: object, name: string): unknown {
  if (Object.hasOwn(record, name)) return plainValue((record as Record<string, unknown>)[name]);
  let at: unknown = record;
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

const WRAPPERS = ['stringValue', 'intValue', 'boolValue', 'doubleValue'] as const;

// OTLP says of each value what type it has.
function plainValue(value: unknown): unknown {
  const wrapped = fieldsOf<(typeof WRAPPERS)[number]>(value);
  const wrapper = wrapped && WRAPPERS.find((name) => name in wrapped);
  return wrapper === undefined ? value : wrapped?.[wrapper];
}

/** What a span is to a replay, by its attributes. */
export type SpanKind = 'call' | 'agent' | undefined;

// Each names the kind of a span in one word. The conventions of OpenTelemetry come first.
const KIND_ATTRIBUTES = [
  'openinference.span.kind',
  'traceloop.span.kind',
  'langfuse.observation.type',
  'langsmith.span.kind',
];

// The AI SDK names what runs its loop, which inside of a tool is a sub-agent.
const AGENT_OPERATIONS: ReadonlySet<unknown> = new Set(['invoke_agent', 'ai.generateText', 'ai.streamText']);

/** What the attributes say that the span is. */
export function kindBy({ get }: Attributes): SpanKind {
  const operation = get('gen_ai.operation.name') ?? get('ai.operationId');
  if (operation === 'execute_tool' || operation === 'ai.toolCall') return 'call';
  if (AGENT_OPERATIONS.has(operation)) return 'agent';
  const kinds = KIND_ATTRIBUTES.map((name) => String(get(name) ?? '').toLowerCase());
  if (kinds.includes('tool')) return 'call';
  if (kinds.includes('agent')) return 'agent';
  // Older spans name the tool, and no operation.
  return operation === undefined && nameOf(get('gen_ai.tool.name')) !== undefined ? 'call' : undefined;
}

/** Which tool the span calls, and how. */
export function callBy(
  { get }: Attributes,
  spanName: unknown,
): { tool: string | undefined; callId: string | undefined; args: unknown; isTransport: boolean } {
  const first = (names: readonly string[]) => names.map(get).find((value) => value !== undefined);
  return {
    tool: TOOL_NAMES.map((name) => nameOf(get(name))).find(Boolean) ?? toolIn(spanName),
    callId: CALL_IDS.map((name) => nameOf(get(name))).find(Boolean),
    args: first(ARGUMENTS),
    isTransport: get('mcp.method.name') !== undefined,
  };
}

const TOOL_NAMES = ['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name', 'traceloop.entity.name'];
const CALL_IDS = ['gen_ai.tool.call.id', 'tool_call.id', 'tool.id', 'ai.toolCall.id'];
const ARGUMENTS = [
  'gen_ai.tool.call.arguments',
  'tool.parameters',
  'input.value',
  'ai.toolCall.args',
  'tool_arguments',
  'gcp.vertex.agent.tool_call_args',
  'traceloop.entity.input',
];

// A span that has no attribute for it has the tool in its name.
function toolIn(spanName: unknown): string | undefined {
  return nameOf(nameOf(spanName)?.replace(/^(execute_tool |running tool: |tool\.)|\.tool$/g, ''));
}

/** The attributes in a field that may hold them as JSON. */
export function attributesIn(field: unknown): Attributes {
  return attributesOf(fieldsOf<'attributes'>(parsed(field))?.attributes);
}
