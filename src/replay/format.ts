import type { RunState } from '../supervisor.ts';
import type { JsonItem, JsonValue } from './json-values.ts';

/**
 * What a recording says, in the order in which it says it. A format turns a file into these; the replay drives an
 * enforcement with them. Several runs of a file may be interleaved, and calls of a run may overlap.
 */
export type TraceEvent = RunBegan | CallBegan | CallDone | PhaseAsked | RunDone | TraceFault;

/** A run began. A call of a run that was never begun begins it, so a format has to say this only of runs without calls. */
export interface RunBegan {
  readonly type: 'run.started';
  /** Names the run among the runs of the file that have not ended. */
  readonly run: string;
  /**
   * What people call the run.
   * @default `run`
   */
  readonly name?: string | undefined;
  /** The open call whose sub-agent this is: the run becomes a child of that call's run (SPEC §10). */
  readonly parent?: { readonly run: string; readonly call: string } | undefined;
  /** Where it goes on, if it was saved and resumed and the recording does not have what was before that (SPEC §11). */
  readonly resumed?: Pick<RunState, 'phase' | 'stepCount' | 'loopCount'> | undefined;
}

/** A tool was called, or at least asked for. */
export interface CallBegan {
  readonly type: 'call.started';
  readonly run: string;
  /** Names the call among the calls of its run that have not ended; made by the format, as recorded ids may repeat. */
  readonly call: string;
  /** The id of the call as it was recorded, if it was. */
  readonly callId?: string | null | undefined;
  readonly tool: string;
  readonly args?: unknown;
  /** For a nested call: the `call` of the open call of the same run that made it, from inside its body (SPEC §5.7). */
  readonly parent?: string | undefined;
  /** Where in the file it is said, from 1. */
  readonly line?: number | undefined;
}

/** A call ended: well, failed, or (`null`) without a result in the recording, which is charged as a step. */
export interface CallDone {
  readonly type: 'call.ended';
  readonly run: string;
  readonly call: string;
  readonly ok: boolean | null;
}

/** The agent proposed a phase by itself (SPEC §3). */
export interface PhaseAsked {
  readonly type: 'phase.proposed';
  readonly run: string;
  readonly target: string;
}

/** A run ended; with a reason, it was aborted. Calls of it that are open have no result. */
export interface RunDone {
  readonly type: 'run.ended';
  readonly run: string;
  readonly reason?: string | undefined;
}

/** A piece of the file cannot be read. What comes after it is read none the less. */
export interface TraceFault {
  readonly type: 'fault';
  readonly message: string;
  /** Where in the file, from 1. */
  readonly line?: number | undefined;
}

/** A file, or another stream of bytes, as a format reads it. It can be read once. */
export interface TraceSource {
  /** The name of the file, for people; never a reason to choose a format. */
  readonly name: string;
  /** The first bytes, 64 of them or more where there are so many. They are read again with the rest. */
  readonly head: Uint8Array;
  /** The bytes as they come. */
  bytes(): AsyncIterable<Uint8Array>;
  /** The text as it comes, in pieces that end anywhere: UTF-8, or UTF-16 with a byte order mark. */
  text(): AsyncIterable<string>;
  /**
   * The JSON values of the text, as they come: its lines, the elements of an outermost array, or the document that it is.
   *
   * @param leaveOut Whether a line says nothing: then it is not parsed, which takes longer than all else. It is not asked
   *   about each of them.
   */
  values(leaveOut?: (line: string) => boolean): AsyncIterable<readonly JsonItem[]>;
}

/** How sure a format is that a file is of its kind. */
export type Likelihood = 'yes' | 'maybe' | 'no';

/**
 * One kind of recording. Users pass their own as the default export of a module: `--format ./mine.mjs`.
 *
 * @example
 * // {"tool":"search","failed":false}, one call a line
 * export default {
 *   name: 'mine',
 *   description: 'the log of our own agent',
 *   async *read(source) {
 *     for await (const items of source.values()) {
 *       yield items.flatMap(({ value, line, fault }) => {
 *         if (fault !== undefined) return [{ type: 'fault', line, message: fault }];
 *         return [
 *           { type: 'call.started', run: source.name, call: 'only', tool: value.tool, line },
 *           { type: 'call.ended', run: source.name, call: 'only', ok: !value.failed },
 *         ];
 *       });
 *     }
 *   },
 * };
 */
export interface TraceFormat {
  /** What `--format` calls it. */
  readonly name: string;
  /** One line for people. */
  readonly description: string;
  /**
   * Whether a JSON value of the file shows that it is of this kind. It is asked about one value after another, from the
   * first, until a format says `yes`. A format without it is only ever chosen by name.
   */
  detect?(value: unknown): Likelihood;
  /** Whether the first bytes of a file show that it is of this kind, where that is no JSON. It is asked before `detect`. */
  detectHead?(head: Uint8Array): boolean;
  /**
   * Reads the file: yields events, several at a time, as awaiting each of millions takes longer than all else. What it
   * throws is reported as a fault of the file.
   */
  read(source: TraceSource): AsyncIterable<Iterable<TraceEvent>>;
}

/** Reads items one after the other; those that are no JSON become faults. */
export function* readItems(
  items: readonly JsonItem[],
  read: (item: JsonValue) => Iterable<TraceEvent>,
): Generator<TraceEvent> {
  for (const item of items) {
    if (item.fault !== undefined) yield { type: 'fault', message: item.fault, line: item.line };
    else yield* read(item);
  }
}
