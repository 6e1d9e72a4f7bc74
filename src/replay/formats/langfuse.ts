import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { timeOf } from './otel.ts';
import { parsed } from './results.ts';
import { type Attributes, attributesIn, callBy, kindBy } from './span-attributes.ts';
import type { Step } from './span-tree.ts';
import { SpanFile } from './spans.ts';

/**
 * Exports of Langfuse: a trace with its observations, or a list of observations. A trace is a run. An observation is a call
 * by its type, by its attributes, or, as LangGraph has it, by its output, which is a tool message; it failed where its
 * level is an error, or the status of that message.
 */
export const langfuse: TraceFormat = {
  name: 'langfuse',
  description: 'exports of Langfuse: traces with observations, or observations',
  detect: (value): Likelihood => (observationsIn(value) === undefined ? 'no' : 'yes'),
  async *read(source) {
    const file = new SpanFile();
    for await (const items of source.values()) yield readItems(items, (item) => readValue(file, item));
    yield* file.end();
  },
};

type Observation = Fields<
  | 'id'
  | 'traceId'
  | 'trace_id'
  | 'parentObservationId'
  | 'parent_observation_id'
  | 'type'
  | 'name'
  | 'startTime'
  | 'start_time'
  | 'endTime'
  | 'end_time'
  | 'level'
  | 'input'
  | 'output'
  | 'metadata'
>;

const TYPES: ReadonlySet<unknown> = new Set([
  'SPAN',
  'GENERATION',
  'EVENT',
  'AGENT',
  'TOOL',
  'CHAIN',
  'RETRIEVER',
  'EVALUATOR',
  'EMBEDDING',
  'GUARDRAIL',
]);

interface Held {
  /** The trace that the value is, which may have no observations. */
  readonly trace: string | undefined;
  readonly observations: readonly unknown[];
}

function observationsIn(value: unknown): Held | undefined {
  if (isObservation(value)) return { trace: undefined, observations: [value] };
  const record = fieldsOf<'trace' | 'observations' | 'data' | 'id'>(value);
  const trace = fieldsOf<'id' | 'observations'>(record?.trace) ?? record;
  const observations = record?.observations ?? trace?.observations ?? record?.data;
  if (!Array.isArray(observations)) return undefined;
  const id = nameOf(trace?.id);
  // The API gives the observations of a trace as ids only, where it is not asked for more.
  const isTrace = id !== undefined && observations !== record?.data && observations.every(isObservation);
  if (!isTrace && !observations.some(isObservation)) return undefined;
  return { trace: id, observations: observations as readonly unknown[] };
}

function isObservation(value: unknown): value is Observation {
  const observation = fieldsOf<keyof Observation>(value);
  if (observation === undefined || !TYPES.has(observation.type)) return false;
  return (
    nameOf(observation.id) !== undefined && nameOf(observation.traceId ?? observation.trace_id) !== undefined
  );
}

function* readValue(file: SpanFile, { value, line }: JsonValue): Generator<TraceEvent> {
  const held = observationsIn(value);
  if (held === undefined) {
    const message = `expected an observation, or an object with "observations", got ${kindOf(value)}`;
    yield { type: 'fault', message, line };
    return;
  }
  if (held.trace !== undefined) file.begin(held.trace);
  for (const observation of held.observations) yield* readObservation(file, observation, line);
}

function* readObservation(file: SpanFile, value: unknown, line: number): Generator<TraceEvent> {
  if (!isObservation(value)) {
    const message = `expected an observation with its id, trace and type, got ${kindOf(value)}`;
    yield { type: 'fault', message, line };
    return;
  }
  const step = stepOf(value);
  if (typeof step === 'string') yield { type: 'fault', message: step, line };
  const span = {
    id: nameOf(value.id) ?? '',
    parent: nameOf(value.parentObservationId ?? value.parent_observation_id),
    step: typeof step === 'string' ? undefined : step,
    line,
  };
  yield* file.add(nameOf(value.traceId ?? value.trace_id) ?? '', span, true, line);
}

// What the observation is to a replay, or what is wrong with it.
function stepOf(observation: Observation): Step | string | undefined {
  const attributes = attributesIn(observation.metadata);
  const message = toolMessage(observation);
  const kind = message === undefined ? kindBySelf(observation, attributes) : 'call';
  if (kind === undefined) return undefined;
  const start = timeOf(observation.startTime ?? observation.start_time);
  if (start === undefined)
    return `the observation of ${kind === 'call' ? 'a call' : 'an agent'} has no start time`;
  if (kind === 'agent') return { kind, start };
  const call = callBy(attributes, observation.name);
  if (call.tool === undefined) return 'the observation of a call without the name of the tool';
  const end = timeOf(observation.endTime ?? observation.end_time);
  return {
    kind,
    start,
    end: end === undefined ? undefined : Math.max(start, end),
    tool: call.tool,
    callId: call.callId ?? nameOf(message?.tool_call_id),
    args: observation.input,
    ok: observation.level !== 'ERROR' && message?.status !== 'error',
    isTransport: call.isTransport,
  };
}

function kindBySelf({ type, name }: Observation, attributes: Attributes) {
  if (type === 'TOOL') return 'call';
  if (type === 'AGENT') return 'agent';
  if (type !== 'SPAN') return undefined;
  return kindBy(attributes) ?? (String(name ?? '').startsWith('tool.') ? 'call' : undefined);
}

type ToolMessage = Fields<'tool_call_id' | 'name' | 'status'>;

// The message of LangChain that the tool answered with, if that is the whole output.
function toolMessage({ type, name, output }: Observation): ToolMessage | undefined {
  if (type !== 'SPAN' && type !== 'TOOL') return undefined;
  if (typeof output === 'string' && !output.includes('tool_call_id')) return undefined;
  const value = fieldsOf<'kwargs' | keyof ToolMessage>(parsed(output));
  const message = fieldsOf<keyof ToolMessage>(value?.kwargs) ?? value;
  if (nameOf(message?.tool_call_id) === undefined) return undefined;
  return message?.name === undefined || message.name === null || message.name === name ? message : undefined;
}
