/**
 * What the page, the server of `phasegate inspect` and {@link inspectTo} say to each other. Types only: everything that
 * comes over the wire is looked at before it is believed.
 *
 * - `GET /`, `/page.js`, `/page.css`, `/icon.svg`: the page.
 * - `GET /stream[?run=KEY]`: server-sent events; each has one of the names of {@link StreamEvents}, and its data is JSON.
 * - `GET /api/chart?run=KEY[&direction=down]`: the {@link Chart} of the run's table, laid out to the right or down.
 * - `POST /ingest`: a {@link BatchHead} and then events of an enforcement, one JSON value a line; answered by {@link Taken}.
 *
 * All but the files of the page need the token: `?token=T`, or `Authorization: Bearer T`. What cannot be answered comes back
 * as {@link Fault}, with a status of 400 or more.
 */
import type { Phase } from '../phases.ts';

/** Raised when one side would misunderstand the other. */
export const PROTOCOL_VERSION = 1;

/** A run, for the list: where it is now. */
export interface RunSummary {
  /** Names the run among all runs that the server knows. */
  readonly key: string;
  /** The run's own id, which two processes may both use; `null` for calls that were made outside of any run. */
  readonly run: string | null;
  /** Where it comes from: the name of a process, or of a file. */
  readonly source: string;
  /** The key of the run that it is a child of; `null` for an outermost run, or where that one is not known. */
  readonly parent: string | null;
  /** The id of the call in whose body it was begun. */
  readonly call: string | null;
  /** `null` until it is known: a stream may begin in the middle of a run. */
  readonly phase: Phase | null;
  readonly live: boolean;
  /** Why it was aborted or terminated. */
  readonly reason: string | null;
  /** Milliseconds since 1970, or the number of the event where `clock` is `'order'`; `null` when it is not known. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly lastAt: number;
  /** `'order'`: the recording tells no times, and what stands for them says only what came after what. */
  readonly clock: 'time' | 'order';
  readonly stepCount: number;
  /** `null`: no limit, or not known. */
  readonly maxSteps: number | null;
  /** Self-loops on the present phase. */
  readonly loopCount: number;
  readonly maxLoopsPerPhase: number | null;
  /** Whether the budgets and the table hold calls back (SPEC §7). */
  readonly dfa: boolean;
  /** Calls that were asked for, the refused ones included. */
  readonly calls: number;
  readonly refused: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly lastTool: string | null;
  readonly lastRefusal: { readonly code: string; readonly message: string; readonly tool: string } | null;
  /** How many of its events the stream of its family holds so far, those of its child runs included. */
  readonly events: number;
}

/** The server-sent events of `GET /stream`, by name. */
export interface StreamEvents {
  /** The first. */
  readonly hello: {
    readonly version: typeof PROTOCOL_VERSION;
    /** Another one after a new start of the server: then forget all that was known, keys too. */
    readonly server: string;
    /** What is shown, for people: `127.0.0.1:4983`, or the names of files. */
    readonly title: string;
    /** Whether more may come: `false` where recordings were read to their end. */
    readonly live: boolean;
  };
  /** Runs that are new or have changed: all of them at first, in several of these. */
  readonly runs: readonly RunSummary[];
  /** All runs there are at the time of the connection have been told. */
  readonly ready: { readonly runs: number };
  /**
   * The events of the watched run and of its child runs, in order; the first has the index `from`. A {@link RunStarted} has
   * one field more, `key`, the run's key. Forget what was there from `from` on.
   */
  readonly events: { readonly run: string; readonly from: number; readonly events: readonly unknown[] };
  /** The watched run is not known, or not any more. */
  readonly unknown: { readonly run: string };
  /** What is not there to be seen, in all: told whenever it changes. */
  readonly dropped: Dropped;
  /** Runs that were let go to keep within the memory that the server may use. */
  readonly gone: readonly string[];
}

export interface Dropped {
  /** Events that did not come here, by source: dropped by the sender, or sent to an earlier server. */
  readonly lost: readonly { readonly source: string; readonly events: number }[];
  /** What the server has let go to keep within its memory: the oldest finished runs first. */
  readonly runsLetGo: number;
  readonly eventsLetGo: number;
  /** Lines of files that cannot be read. */
  readonly faults: readonly {
    readonly file: string;
    readonly line: number | null;
    readonly message: string;
  }[];
  readonly faultCount: number;
}

/** A table, laid out: all lengths in the same unit, from the upper left corner. */
export interface Chart {
  readonly width: number;
  readonly height: number;
  /** The frame around the phases that are not terminal. */
  readonly live: Box;
  /** The dot, and the arrow from there to IDLE. */
  readonly start: Box;
  readonly startArrow: readonly Point[];
  readonly states: readonly (Box & { readonly phase: Phase; readonly terminal: boolean })[];
  readonly edges: readonly ChartEdge[];
}

export interface ChartEdge {
  /** `'*'`: from whichever live phase the run is in, drawn from the frame around them. */
  readonly from: Phase | '*';
  readonly to: Phase;
  /** Whether the table has it; otherwise it is taken without being proposed. */
  readonly legal: boolean;
  readonly points: readonly Point[];
  /** In lines. */
  readonly label: readonly string[];
  readonly labelBox: Box | null;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** The first line of a batch to `POST /ingest`; the events follow. */
export interface BatchHead {
  readonly version: typeof PROTOCOL_VERSION;
  /** Names the sender among all senders. A batch that comes again is taken once. */
  readonly source: string;
  /** What people call the sender. */
  readonly name: string;
  /**
   * The number of the first event that follows; those behind it have the next ones. The first of all has 0, and an event that
   * was dropped had a number too, so that a gap is seen.
   */
  readonly first: number;
}

/** The answer to a batch. */
export interface Taken {
  /** The number of the event that the server waits for next. */
  readonly next: number;
}

/** The answer to what cannot be answered. */
export interface Fault {
  readonly error: { readonly code: string; readonly message: string };
}
