import type { TraceEvent } from '../format.ts';
import { parsed } from './results.ts';
import { type CallStep, type PlacedStep, placeSteps, type Span } from './span-tree.ts';

// A span needs some hundred bytes, so that this many need a gigabyte at most.
const MAX_SPANS = 2 ** 21;

/**
 * The spans of a file, which come in any order: a parent after its children, a trace between others. Each trace is a
 * run; those in which no span is of an agent are passed over.
 */
export class SpanFile {
  readonly #traces = new Map<string, { readonly spans: Map<string, Span>; ofAgent: boolean }>();
  readonly #maxSpans: number;
  #count = 0;

  /** @param maxSpans How many spans are read. */
  constructor(maxSpans: number = MAX_SPANS) {
    this.#maxSpans = maxSpans;
  }

  /** A trace without any spans so far. */
  begin(id: string): void {
    this.#traceOf(id).ofAgent = true;
  }

  /** Takes a span. Of one that comes again, as exporters send some twice or once more when they end, the last counts. */
  *add(trace: string, span: Span, ofAgent: boolean, line: number): Generator<TraceEvent> {
    this.#count += 1;
    if (this.#count > this.#maxSpans) {
      if (this.#count > this.#maxSpans + 1) return;
      const message = `the file holds more than ${this.#maxSpans} spans, the most that are read; split it by traces`;
      yield { type: 'fault', message, line };
      return;
    }
    const known = this.#traceOf(trace);
    known.ofAgent ||= ofAgent;
    known.spans.set(span.id, span);
  }

  /** What the traces say, one after the other, once all spans were taken. */
  *end(): Generator<Iterable<TraceEvent>> {
    for (const [id, { spans, ofAgent }] of this.#traces) if (ofAgent) yield eventsOf(id, spans);
  }

  #traceOf(id: string) {
    const known = this.#traces.get(id);
    if (known !== undefined) return known;
    const trace = { spans: new Map<string, Span>(), ofAgent: false };
    this.#traces.set(id, trace);
    return trace;
  }
}

function* eventsOf(trace: string, spans: ReadonlyMap<string, Span>): Generator<TraceEvent> {
  yield { type: 'run.started', run: trace, name: trace };
  const steps = placeSteps(trace, spans);
  // Where the clock does not tell, what lies in another begins after it, as it is placed after it, and ends before it.
  const starts = steps.toSorted((a, b) => a.start - b.start);
  const ends = steps.filter(hasEnd).toSorted(byEnd);
  const begun = new Set<PlacedStep>();
  const endless: PlacedStep[] = [];
  let next = 0;
  for (const step of starts) {
    for (let call = ends[next]; call !== undefined && isOver(call, step, begun); call = ends[next]) {
      yield end(call);
      next += 1;
    }
    // A call of which no end is recorded has ended when something begins that does not lie in it.
    while (endless.length > 0 && endless.at(-1) !== step.endlessCall) yield end(endless.pop() as PlacedStep);
    yield* begin(step);
    begun.add(step);
    if (isEndless(step)) endless.push(step);
  }
  for (const call of ends.slice(next)) yield end(call);
  yield { type: 'run.ended', run: trace };
}

type Ended = PlacedStep & { readonly step: CallStep & { readonly end: number } };

function hasEnd(step: PlacedStep): step is Ended {
  return step.step.kind === 'call' && step.step.end !== undefined;
}

function byEnd(a: Ended, b: Ended): number {
  return a.step.end - b.step.end || b.depth - a.depth || a.start - b.start;
}

function isEndless({ step }: PlacedStep): boolean {
  return step.kind === 'call' && step.end === undefined;
}

// Whether the call has ended when the step begins. Clocks are coarse, so the two may be at the same time.
function isOver(call: Ended, step: PlacedStep, begun: ReadonlySet<PlacedStep>): boolean {
  if (call.step.end !== step.start) return call.step.end < step.start;
  return begun.has(call) && !liesIn(step, call);
}

// Steps lie in each other a few deep; from a made up file that goes deeper nothing is wanted but that it is read soon.
const DEPTH_SEEN = 100;

function liesIn(step: PlacedStep, call: PlacedStep): boolean {
  let around = step.around;
  for (let depth = 0; around !== undefined && depth < DEPTH_SEEN; depth += 1) {
    if (around === call) return true;
    around = around.around;
  }
  return false;
}

function* begin({ id, step, run, caller, line }: PlacedStep): Generator<TraceEvent> {
  if (step.kind === 'call') {
    const { tool, callId } = step;
    const args = parsed(step.args);
    yield { type: 'call.started', run, call: id, callId, tool, args, parent: caller?.id, line };
  } else if (caller !== undefined) {
    yield { type: 'run.started', run, parent: { run: caller.run, call: caller.id } };
  }
}

function end({ id, step, run, failed }: PlacedStep): TraceEvent {
  const ok = step.kind === 'call' && step.end !== undefined ? step.ok : null;
  return { type: 'call.ended', run, call: id, ok: ok && !failed };
}
