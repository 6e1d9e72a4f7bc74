import type { TraceEvent } from '../format.ts';
import { OpenCalls } from '../open-calls.ts';

/** A tool call as the model asks for it. */
export interface ChatCall {
  readonly id: string | undefined;
  readonly tool: string | undefined;
  readonly args: unknown;
}

/** The result of a call: of the one with that id or, without an id, of the oldest open one of that tool. */
export interface ChatResult {
  readonly id: string | undefined;
  readonly tool?: string | undefined;
  /** `null` for a call that was not let run. */
  readonly ok: boolean | null;
}

/** What a message says of tool calls: those that it asks for, in order, and the results that it hands back. */
export interface ChatTurn {
  readonly fromModel: boolean;
  readonly calls: readonly ChatCall[];
  readonly results: readonly ChatResult[];
}

/** A run as a conversation with a model, told message by message. */
export class Conversation {
  readonly #run: string;
  readonly #name: string;
  readonly #inPieces: boolean;
  readonly #open = new OpenCalls();
  #modelSpeaks = false;

  /**
   * @param run Names the run among those of the file that have not ended.
   * @param name What people call it.
   * @param inPieces Whether one turn of the model comes as several messages.
   */
  constructor(run: string, name: string, inPieces = false) {
    this.#run = run;
    this.#name = name;
    this.#inPieces = inPieces;
  }

  begin(): TraceEvent {
    return { type: 'run.started', run: this.#run, name: this.#name };
  }

  *add({ fromModel, calls, results }: ChatTurn, line: number | undefined): Generator<TraceEvent> {
    const run = this.#run;
    // The next turn begins when the model has seen all results that there are.
    if (fromModel && !(this.#inPieces && this.#modelSpeaks)) {
      for (const call of this.#open.takeAll()) yield { type: 'call.ended', run, call, ok: null };
    }
    this.#modelSpeaks = fromModel;
    for (const { id, tool, args } of calls) {
      if (tool === undefined) {
        yield { type: 'fault', message: 'a tool call without the name of the tool', line };
        continue;
      }
      const call = this.#open.add(id, tool);
      yield { type: 'call.started', run, call, callId: id, tool, args, line };
    }
    for (const { id, tool, ok } of results) {
      // A result of no open call belongs to a call before the beginning of the recording.
      const call = this.#open.take(id, tool);
      if (call !== undefined) yield { type: 'call.ended', run, call, ok };
    }
  }

  end(): TraceEvent {
    return { type: 'run.ended', run: this.#run };
  }
}
