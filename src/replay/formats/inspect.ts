import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, listOf, nameOf } from '../json.ts';
import { type ChatTurn, Conversation } from './conversation.ts';
import { isZip, readZip, type ZippedFile } from './zip.ts';

/**
 * Logs of Inspect: JSON, or a zip (`.eval`) with a JSON file for each sample. A sample is a run. The `tool_calls` of an
 * assistant message are calls, and the tool message with the id of one is its result, failed where it has an `error`.
 */
export const inspect: TraceFormat = {
  name: 'inspect',
  description: 'logs of Inspect: .eval or JSON',
  detectHead: isZip,
  detect(value): Likelihood {
    const log = fieldsOf<'eval' | 'status' | 'samples'>(value);
    if (fieldsOf(log?.eval) !== undefined && typeof log?.status === 'string') return 'yes';
    return isSample(value) ? 'yes' : 'no';
  },
  async *read(source) {
    const log = new LogFile();
    if (isZip(source.head)) {
      for await (const file of readZip(source.bytes(), /^samples\/.+\.json$/)) yield log.readFile(file);
      if (!log.hasFiles) yield [{ type: 'fault', message: NO_SAMPLES }];
      return;
    }
    for await (const items of source.values()) {
      yield readItems(items, ({ value, line }) => log.read(value, line));
    }
  },
};

const NO_SAMPLES = 'the zip holds no samples/*.json, so it is no log of Inspect or one without samples';

type Sample = Fields<'id' | 'epoch' | 'messages'>;
type Message = Fields<'role' | 'tool_calls' | 'tool_call_id' | 'function' | 'error'>;

function isSample(value: unknown): value is Sample {
  const sample = fieldsOf<keyof Sample>(value);
  return typeof sample?.epoch === 'number' && Array.isArray(sample.messages);
}

class LogFile {
  #samples = 0;
  #hasFiles = false;

  /** Whether files of a zip were read. */
  get hasFiles(): boolean {
    return this.#hasFiles;
  }

  *read(value: unknown, line: number | undefined): Generator<TraceEvent> {
    if (isSample(value)) {
      yield* this.#readSample(value, line);
      return;
    }
    const log = fieldsOf<'eval' | 'samples'>(value);
    if (fieldsOf(log?.eval) === undefined) {
      const message = `expected a log with "eval" and "samples", or a sample, got ${kindOf(value)}`;
      yield { type: 'fault', message, line };
      return;
    }
    for (const sample of listOf(log?.samples)) {
      if (isSample(sample)) yield* this.#readSample(sample, line);
      else yield { type: 'fault', message: notASample(sample), line };
    }
  }

  /** Reads a file of a zip. */
  *readFile({ name, text, fault }: ZippedFile): Generator<TraceEvent> {
    this.#hasFiles = true;
    if (fault !== undefined) {
      yield { type: 'fault', message: `${name}: ${fault}` };
      return;
    }
    let sample: unknown;
    try {
      sample = parsePython(text);
    } catch (error) {
      yield { type: 'fault', message: `${name}: not JSON: ${(error as Error).message}` };
      return;
    }
    if (isSample(sample)) yield* this.#readSample(sample, undefined);
    else yield { type: 'fault', message: `${name}: ${notASample(sample)}` };
  }

  *#readSample({ id, epoch, messages }: Sample, line: number | undefined): Generator<TraceEvent> {
    const name = `${nameOf(id) ?? ''}.${String(epoch)}`;
    const conversation = new Conversation(`sample-${this.#samples++}`, name);
    yield conversation.begin();
    for (const message of listOf(messages)) {
      const fields = fieldsOf<keyof Message>(message);
      if (typeof fields?.role === 'string') yield* conversation.add(turnOf(fields), line);
      else yield { type: 'fault', message: `expected a message with a role, got ${kindOf(message)}`, line };
    }
    yield conversation.end();
  }
}

function notASample(value: unknown): string {
  return `expected a sample with "epoch" and "messages", got ${kindOf(value)}`;
}

function turnOf({ role, tool_calls, tool_call_id, function: tool, error }: Message): ChatTurn {
  const calls = listOf(role === 'assistant' ? tool_calls : undefined).map((entry) => {
    const call = fieldsOf<'id' | 'function' | 'arguments'>(entry);
    return { id: nameOf(call?.id), tool: nameOf(call?.function), args: call?.arguments };
  });
  const ok = error === undefined || error === null;
  const results = role === 'tool' ? [{ id: nameOf(tool_call_id), tool: nameOf(tool), ok }] : [];
  return { fromModel: role === 'assistant', calls, results };
}

// Python writes numbers that JSON does not have, as scores may be.
function parsePython(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = text.replace(STRING_OR_NUMBER, (found) => (found.startsWith('"') ? found : 'null'));
    if (plain === text) throw error;
    return JSON.parse(plain);
  }
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\b(?:NaN|Infinity)\b/g;
