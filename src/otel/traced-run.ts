import { type Attributes, type Context, trace } from '@opentelemetry/api';
import { messageOf } from '../describe.ts';
import type { CallEnded, CallRefused, CallStarted, RunEnded, RunStarted } from '../events.ts';
import type { Phase } from '../phases.ts';
import { fail, type Spanned, type Spans } from './spans.ts';
import { refusalType, shortName, shortText, thrownType } from './words.ts';

/** A call in flight, and its span. */
export interface TracedCall extends Spanned {
  readonly id: string;
}

/** A live run, its span, and those of its calls in flight. */
export class TracedRun {
  readonly agentName: string | undefined;
  /** How many calls may end well; `null` for no limit. */
  readonly maxSteps: number | null;
  readonly #spans: Spans;
  readonly #spanned: Spanned;
  // By their numbers.
  readonly #calls = new Map<number, TracedCall>();
  readonly #waitingIn = new Map<number, Context>();
  #phase: Phase;
  // Where it was before the hops that lead to the next call: those are told first.
  #settled: Phase;
  #lastRefusal: string | undefined;

  constructor(spans: Spans, event: RunStarted, agentName: string | undefined, around: Context) {
    this.agentName = agentName;
    this.maxSteps = event.dfa ? event.maxSteps : null;
    this.#spans = spans;
    const { state = { phase: 'IDLE' }, calls = [] } = event.resumed ?? {};
    this.#phase = state.phase;
    this.#settled = state.phase;
    this.#spanned = spans.beginRun(event, agentName, around);
    for (const call of calls) {
      const outer = this.enter((call.parent !== null && this.call(call.parent)) || null, around);
      this.#calls.set(call.seq, { id: call.id, ...spans.resumeCall(event.run, call, outer) });
    }
  }

  /** The context of code that is inside of the run, or of one of its calls. */
  enter(call: TracedCall | null, active: Context): Context {
    return trace.setSpan(active, (call ?? this.#spanned).span);
  }

  /** The call of that number, if it is in flight. */
  call(seq: number): TracedCall | undefined {
    return this.#calls.get(seq);
  }

  /** The latest call of that id that is in flight. */
  latest(id: string): TracedCall | undefined {
    return [...this.#calls.values()].findLast((call) => call.id === id);
  }

  enterPhase(phase: Phase): void {
    this.#phase = phase;
  }

  /** No hops have been told since. */
  settle(): void {
    this.#settled = this.#phase;
  }

  /** A call waits its turn. It is admitted where another one ends, and belongs where it was asked for. */
  wait(seq: number, active: Context): void {
    this.#waitingIn.set(seq, active);
  }

  /** Where a call was asked for that is decided now. */
  askedIn(seq: number, active: Context): Context {
    const asked = this.#waitingIn.get(seq);
    this.#waitingIn.delete(seq);
    return asked ?? active;
  }

  beginCall(event: CallStarted, around: Context): void {
    const decision: Attributes = {
      'phasegate.decision': 'admitted',
      'phasegate.phase.before': this.#settled,
      ...timesOf(event),
      ...this.#steps(event.stepCount),
    };
    this.#calls.set(event.seq, { id: event.call, ...this.#spans.beginCall(event, decision, around) });
  }

  endCall(event: CallEnded): void {
    const call = this.#calls.get(event.seq);
    if (call === undefined) return;
    this.#calls.delete(event.seq);
    try {
      call.span.setAttributes({ 'phasegate.phase.after': this.#phase, ...this.#steps(event.stepCount) });
      // It counts as a step, and is not to look as if it had gone well.
      if (event.interrupted) fail(call, 'interrupted', 'The run was resumed without the call');
      else if (!event.ok) fail(call, thrownType(event.error), messageOf(event.error));
    } finally {
      this.#spans.end(call);
    }
  }

  refuseCall(event: CallRefused, around: Context): void {
    // An observer that calls depend on hears of a start, and then of the refusal, where another one has failed.
    const started = this.#calls.get(event.seq);
    if (started !== undefined) {
      this.#calls.delete(event.seq);
      this.#phase = event.phase ?? this.#phase;
    }
    refuseCall(this.#spans, event, this.#steps(event.stepCount), around, started);
    this.#spans.tell(this.#spanned, 'phasegate.refusal', {
      'gen_ai.tool.name': shortName(event.tool),
      'gen_ai.tool.call.id': event.call === null ? undefined : shortName(event.call),
      ...reasonsOf(event),
    });
    this.#lastRefusal = refusalType(event.code);
  }

  end({ phase, reason, stepCount }: RunEnded): void {
    try {
      this.#spanned.span.setAttributes({ 'phasegate.phase': phase, ...this.#steps(stepCount) });
      if (reason !== null) {
        this.#spanned.span.setAttribute('phasegate.run.reason', shortText(reason));
        const byRefusal = phase === 'EXHAUSTED' || phase === 'REJECTED';
        fail(this.#spanned, (byRefusal && this.#lastRefusal) || 'run-aborted', reason);
      }
      // What such a call still does counts no more.
      for (const call of this.#calls.values()) fail(call, 'run-completed', 'The run ended before the call');
    } finally {
      this.leave();
    }
  }

  /** Nothing more will be told of the run. */
  leave(): void {
    for (const call of this.#calls.values()) this.#spans.end(call);
    this.#spans.end(this.#spanned);
  }

  #steps(used: number): Attributes {
    const { maxSteps } = this;
    const left = maxSteps === null ? undefined : Math.max(0, maxSteps - used);
    return { 'phasegate.steps.used': used, 'phasegate.steps.left': left };
  }
}

/**
 * A call that was refused has a span without length.
 *
 * @param started Its span, where it was told to have started.
 */
export function refuseCall(
  spans: Spans,
  event: CallRefused,
  steps: Attributes,
  around: Context,
  started?: Spanned,
): void {
  const decision: Attributes = {
    'phasegate.decision': 'refused',
    'phasegate.phase.before': event.phase ?? undefined,
    ...reasonsOf(event),
    ...timesOf(event),
    ...steps,
  };
  const spanned = started ?? spans.beginCall(event, decision, around);
  try {
    if (started !== undefined) started.span.setAttributes(decision);
    fail(spanned, refusalType(event.code), event.message);
  } finally {
    spans.end(spanned, spanned.begun);
  }
}

function reasonsOf({ code, stage, message }: CallRefused): Attributes {
  return {
    'phasegate.code': shortName(code),
    'phasegate.stage': shortName(stage),
    'phasegate.message': shortText(message),
  };
}

function timesOf({ waitedMs, decisionMs }: CallStarted | CallRefused): Attributes {
  return {
    'phasegate.wait.duration': inSeconds(waitedMs),
    'phasegate.decision.duration': inSeconds(decisionMs),
  };
}

/** A time as telemetry has it. */
export function inSeconds(ms: number | null): number | undefined {
  return ms === null ? undefined : ms / 1000;
}
