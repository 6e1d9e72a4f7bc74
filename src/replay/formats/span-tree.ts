/** A span of a trace. */
export interface Span {
  readonly id: string;
  /** The id of the span that it lies in, which need not be in the file. */
  readonly parent: string | undefined;
  /** What it is to a replay; `undefined` for the many spans that only lie between those. */
  readonly step: Step | undefined;
  /** Where in the file it is, from 1. */
  readonly line: number;
}

/** A span that says something of a run: a call of a tool, or an agent at work. */
export type Step = CallStep | AgentStep;

/** A call of a tool. */
export interface CallStep {
  readonly kind: 'call';
  /** In any unit, as long as it is the same in all spans of a file. */
  readonly start: number;
  /** `undefined` where none is recorded. */
  readonly end: number | undefined;
  readonly tool: string;
  readonly callId: string | undefined;
  readonly args: unknown;
  /** `null` for a call that was refused, so that it has no result. */
  readonly ok: boolean | null;
  /** Whether it is a call as a protocol carries it, which may be recorded besides the call itself. */
  readonly isTransport: boolean;
}

/** An agent at work. */
interface AgentStep {
  readonly kind: 'agent';
  readonly start: number;
}

/** A step with its place among the others. */
export interface PlacedStep {
  readonly id: string;
  readonly line: number;
  readonly step: Step;
  /** When it begins: no later than what lies in it. */
  start: number;
  /** The step that it lies in. */
  readonly around: PlacedStep | undefined;
  /** How many steps it lies in. */
  readonly depth: number;
  /** The nearest call without an end that it lies in. */
  readonly endlessCall: PlacedStep | undefined;
  /** The run that it belongs to; of an agent, the run that its calls belong to. */
  readonly run: string;
  /** The call from whose body it comes: as a nested call, or as the agent of a child run. */
  readonly caller: PlacedStep | undefined;
  /** Whether the same call, as a protocol carried it, failed. */
  failed: boolean;
}

/**
 * The steps among the spans of a trace, each placed in the one around it. A call that lies in a call is nested. An agent
 * that lies in a call is a sub-agent, with a run of its own; any other agent works in the run that it lies in.
 */
export function placeSteps(trace: string, spans: ReadonlyMap<string, Span>): PlacedStep[] {
  const around = new StepsAround(spans);
  const placed = new Map<Span, PlacedStep>();
  const all: PlacedStep[] = [];
  for (const span of spans.values()) {
    // What lies around a step is placed first. Spans that lie in each other, in a circle, are cut where it closes.
    const chain: Span[] = [];
    const onChain = new Set<Span>();
    let at = span.step === undefined ? undefined : span;
    while (at !== undefined && !placed.has(at) && !onChain.has(at)) {
      chain.push(at);
      onChain.add(at);
      at = around.of(at);
    }
    let outer = at === undefined ? undefined : placed.get(at);
    for (const inner of chain.toReversed()) {
      const step = inner.step as Step;
      const again = sameCall(step, outer);
      if (again === undefined) {
        outer = place(trace, inner, step, outer);
        all.push(outer);
      } else {
        again.failed ||= step.kind === 'call' && step.ok === false;
        outer = again;
      }
      placed.set(inner, outer);
    }
  }
  // Clocks of several machines differ, and what is made up says anything: what lies around a step begins no later than it.
  for (const { around: outer, start } of all.toReversed()) {
    if (outer !== undefined && outer.start > start) outer.start = start;
  }
  return all;
}

// The call around it, if the step is only another record of that call.
function sameCall(step: Step, outer: PlacedStep | undefined): PlacedStep | undefined {
  if (step.kind !== 'call' || outer?.step.kind !== 'call' || outer.step.tool !== step.tool) return undefined;
  const hasSameId = step.callId !== undefined && step.callId === outer.step.callId;
  return step.isTransport || hasSameId ? outer : undefined;
}

function place(trace: string, { id, line }: Span, step: Step, around: PlacedStep | undefined): PlacedStep {
  const caller = around?.step.kind === 'call' ? around : undefined;
  const isSubAgent = step.kind === 'agent' && caller !== undefined;
  return {
    id,
    line,
    step,
    start: step.start,
    around,
    depth: around === undefined ? 0 : around.depth + 1,
    endlessCall: around?.step.kind === 'call' && around.step.end === undefined ? around : around?.endlessCall,
    run: isSubAgent ? `${trace}/${id}` : (around?.run ?? trace),
    caller,
    failed: false,
  };
}

// Finds the step that a span lies in, and remembers it for each span on the way: so a long chain is walked once.
class StepsAround {
  readonly #spans: ReadonlyMap<string, Span>;
  readonly #known = new Map<Span, Span | undefined>();

  constructor(spans: ReadonlyMap<string, Span>) {
    this.#spans = spans;
  }

  of(span: Span): Span | undefined {
    const way: Span[] = [];
    let at: Span | undefined = span;
    let found: Span | undefined;
    while (at !== undefined) {
      if (this.#known.has(at)) {
        found = this.#known.get(at);
        break;
      }
      way.push(at);
      // Until it is known: a circle of spans lies in nothing.
      this.#known.set(at, undefined);
      at = at.parent === undefined ? undefined : this.#spans.get(at.parent);
      if (at?.step !== undefined) {
        found = at;
        break;
      }
    }
    for (const passed of way) this.#known.set(passed, found);
    return found;
  }
}
