import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, listOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { type ChatTurn, Conversation } from './conversation.ts';

/**
 * Results of tau2-bench: each entry of `simulations` is a run. The `tool_calls` of the assistant are calls, and the tool
 * message with the `id` of one is its result, failed with `error: true`. The simulated user has tools as well: what it
 * calls is no call of the agent, and is passed over.
 */
export const tau2Bench: TraceFormat = {
  name: 'tau2-bench',
  description: 'results of tau2-bench (JSON)',
  detect(value): Likelihood {
    const results = fieldsOf<'simulations' | 'tasks' | 'info'>(value);
    if (!Array.isArray(results?.simulations)) return 'no';
    return 'tasks' in results || 'info' in results ? 'yes' : 'maybe';
  },
  async *read(source) {
    let index = 0;
    for await (const items of source.values()) {
      yield readItems(items, function* (item) {
        const simulations = fieldsOf<'simulations'>(item.value)?.simulations;
        if (!Array.isArray(simulations)) {
          yield fault(item, `expected an object with "simulations", got ${kindOf(item.value)}`);
          return;
        }
        for (const simulation of listOf(simulations)) yield* readSimulation(simulation, index++, item);
      });
    }
  },
};

type Message = Fields<'role' | 'tool_calls' | 'id' | 'requestor' | 'error'>;

function* readSimulation(value: unknown, index: number, item: JsonValue): Generator<TraceEvent> {
  const simulation = fieldsOf<'task_id' | 'messages'>(value);
  if (!Array.isArray(simulation?.messages)) {
    yield fault(item, `expected a simulation with "messages", got ${kindOf(value)}`);
    return;
  }
  const name = `${index}:${nameOf(simulation.task_id) ?? ''}`;
  const conversation = new Conversation(`simulation-${index}`, name);
  yield conversation.begin();
  for (const message of listOf(simulation.messages)) {
    const fields = fieldsOf<keyof Message>(message);
    if (typeof fields?.role !== 'string') {
      yield fault(item, `expected a message with a role, got ${kindOf(message)}`);
    } else {
      yield* conversation.add(turnOf(fields), item.line);
    }
  }
  yield conversation.end();
}

function turnOf({ role, tool_calls, id, requestor, error }: Message): ChatTurn {
  const calls = listOf(role === 'assistant' ? tool_calls : undefined).map((entry) => {
    const call = fieldsOf<'id' | 'name' | 'arguments'>(entry);
    return { id: nameOf(call?.id), tool: nameOf(call?.name), args: call?.arguments };
  });
  const isResult = role === 'tool' && requestor !== 'user';
  const results = isResult ? [{ id: nameOf(id), ok: error !== true }] : [];
  return { fromModel: role === 'assistant', calls, results };
}

function fault({ line }: JsonValue, message: string): TraceEvent {
  return { type: 'fault', message, line };
}
