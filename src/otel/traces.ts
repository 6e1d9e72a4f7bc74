import { type Context, context, createContextKey } from '@opentelemetry/api';
import type { CallRefused, CallStarted, PhasegateEvent, RunStarted } from '../events.ts';
import type { Scope } from '../observers.ts';
import type { Settings } from './options.ts';
import { Spans } from './spans.ts';
import { refuseCall, type TracedCall, TracedRun } from './traced-run.ts';
import { shortName } from './words.ts';

// Runs that are never ended are the user's mistake, and are not to fill the memory with spans.
const MAX_LIVE = 10_000;

/** Where code is that runs inside of what is traced here. */
interface Place {
  readonly run: TracedRun;
  readonly call: TracedCall | null;
}

/** Runs and calls as spans. */
export class Traces {
  readonly #settings: Settings;
  readonly #spans: Spans;
  readonly #maxLive: number;
  readonly #place = createContextKey('phasegate: which run and call the code is inside of');
  // Those that were seen to begin: of a run that was live before, nothing is known.
  readonly #live = new Map<string, TracedRun>();

  /** @param maxLive How many live runs are traced at once. */
  constructor(settings: Settings, maxLive = MAX_LIVE) {
    this.#settings = settings;
    this.#spans = new Spans(settings);
    this.#maxLive = maxLive;
  }

  /** @returns The run that the event is of, if it was seen to begin. */
  hear(event: PhasegateEvent): TracedRun | undefined {
    if (event.type === 'run.started') return this.#beginRun(event);
    const run = event.run === null ? undefined : this.#live.get(event.run);
    if (event.type === 'phase.entered') {
      run?.enterPhase(event.phase);
      return run;
    }
    switch (event.type) {
      case 'call.waiting':
        run?.wait(event.seq, context.active());
        break;
      case 'call.started':
        run?.beginCall(event, this.#around(run, event));
        break;
      case 'call.refused':
        if (run === undefined) refuseCall(this.#spans, event, {}, context.active());
        else run.refuseCall(event, this.#around(run, event));
        break;
      case 'call.ended':
        run?.endCall(event);
        break;
      case 'run.ended':
        this.#live.delete(event.run);
        run?.end(event);
        break;
    }
    run?.settle();
    return run;
  }

  /** Runs code with the span active of the run or the call that it is inside of. */
  inside({ run: id, seq }: Scope, body: () => unknown): unknown {
    const run = this.#live.get(id);
    const call = seq === 0 ? null : run?.call(seq);
    if (run === undefined || call === undefined) return body();
    const place: Place = { run, call };
    return context.with(run.enter(call, context.active()).setValue(this.#place, place), body);
  }

  #beginRun(event: RunStarted): TracedRun | undefined {
    // The same id again is another run, and from now on events are of that one.
    this.#leave(event.run);
    // Of one that had ended when it was saved, nobody is told that it ends.
    if (event.resumed?.state.finished) return undefined;
    const [oldest] = this.#live.keys();
    if (oldest !== undefined && this.#live.size >= this.#maxLive) this.#leave(oldest);
    const name = this.#settings.agentName(event);
    const run = new TracedRun(this.#spans, event, name && shortName(name), this.#aroundRun(event));
    this.#live.set(event.run, run);
    return run;
  }

  #leave(id: string): void {
    const run = this.#live.get(id);
    this.#live.delete(id);
    run?.leave();
  }

  /** A child run lies in the call in whose body it was begun, and any other in whatever is active. */
  #aroundRun({ parent, call }: RunStarted): Context {
    const active = context.active();
    const outer = parent === null ? undefined : this.#live.get(parent);
    if (outer === undefined || call === null || this.#isIn(active, outer, call)) return active;
    return outer.enter(outer.latest(call) ?? null, active);
  }

  /** A call lies in its run or, if it is nested, in the call that made it; wherever in there it was asked for. */
  #around(run: TracedRun, { seq, parent }: CallStarted | CallRefused): Context {
    const asked = run.askedIn(seq, context.active());
    if (this.#isIn(asked, run, parent)) return asked;
    return run.enter((parent !== null && run.latest(parent)) || null, asked);
  }

  #isIn(place: Context, run: TracedRun, call: string | null): boolean {
    const at = place.getValue(this.#place) as Place | undefined;
    return at?.run === run && (at.call?.id ?? null) === call;
  }
}
