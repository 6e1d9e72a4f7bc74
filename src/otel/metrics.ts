import { type Attributes, type Counter, type Histogram, type Meter, metrics } from '@opentelemetry/api';
import packageJson from '../../package.json' with { type: 'json' };
import type { CallRefused, CallStarted, PhasegateEvent, RunEnded } from '../events.ts';
import type { Settings } from './options.ts';
import { inSeconds, type TracedRun } from './traced-run.ts';
import { FewNames, isOwnCode } from './words.ts';

/** Runs and calls as numbers. What models and users name is told apart up to a limit. */
export class Metrics {
  readonly #settings: Settings;
  readonly #tools: FewNames;
  readonly #codes: FewNames;
  readonly #agents: FewNames;
  #instruments: Instruments | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#tools = new FewNames(settings.maxNames);
    this.#codes = new FewNames(settings.maxNames);
    this.#agents = new FewNames(settings.maxNames);
  }

  /** @param run The run that the event is of, if it was seen to begin. */
  hear(event: PhasegateEvent, run: TracedRun | undefined): void {
    switch (event.type) {
      case 'call.started':
        this.#count(event, run, { 'gen_ai.tool.name': this.#tools.admit(event.tool) }, 'admitted');
        break;
      case 'call.refused':
        this.#countRefusal(event, run);
        break;
      case 'run.ended':
        this.#countSteps(event, run);
        break;
    }
  }

  #countRefusal(event: CallRefused, run: TracedRun | undefined): void {
    // A model may make up any name: only one that was admitted before is told.
    const tool: Attributes = { 'gen_ai.tool.name': this.#tools.find(event.tool) };
    const code = isOwnCode(event.code) ? event.code : this.#codes.admit(event.code);
    this.#count(event, run, tool, 'refused');
    this.#made.refusals.add(1, { ...this.#agentOf(run), ...tool, 'phasegate.code': code });
  }

  #count(
    event: CallStarted | CallRefused,
    run: TracedRun | undefined,
    tool: Attributes,
    decision: 'admitted' | 'refused',
  ): void {
    const { calls, waits, decisions } = this.#made;
    const agent = this.#agentOf(run);
    const decided = { ...agent, 'phasegate.decision': decision };
    calls.add(1, { ...decided, ...tool });
    const waited = inSeconds(event.waitedMs);
    if (waited !== undefined && waited > 0) waits.record(waited, decided);
    const took = inSeconds(event.decisionMs);
    if (took !== undefined) decisions.record(took, decided);
  }

  #countSteps({ phase, stepCount }: RunEnded, run: TracedRun | undefined): void {
    if (run === undefined || run.maxSteps === null) return;
    const left = Math.max(0, run.maxSteps - stepCount);
    this.#made.stepsLeft.record(left, { ...this.#agentOf(run), 'phasegate.phase': phase });
  }

  #agentOf(run: TracedRun | undefined): Attributes {
    const name = run?.agentName;
    return name === undefined ? {} : { 'gen_ai.agent.name': this.#agents.admit(name) };
  }

  // At the first event, since a global provider that is set later would never be seen.
  get #made(): Instruments {
    this.#instruments ??= instrumentsOf(
      (this.#settings.meterProvider ?? metrics).getMeter('phasegate', packageJson.version),
    );
    return this.#instruments;
  }
}

interface Instruments {
  readonly calls: Counter;
  readonly refusals: Counter;
  readonly stepsLeft: Histogram;
  readonly waits: Histogram;
  readonly decisions: Histogram;
}

function instrumentsOf(meter: Meter): Instruments {
  return {
    calls: meter.createCounter('phasegate.calls', {
      description: 'Tool calls that were asked for',
      unit: '{call}',
    }),
    refusals: meter.createCounter('phasegate.refusals', {
      description: 'Tool calls that were refused',
      unit: '{call}',
    }),
    stepsLeft: meter.createHistogram('phasegate.steps.left', {
      description: 'Calls that a run might still have made when it ended',
      unit: '{step}',
      advice: { explicitBucketBoundaries: [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    }),
    waits: meter.createHistogram('phasegate.wait.duration', {
      description: 'Time for which a call waited its turn, of those that had to',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300] },
    }),
    decisions: meter.createHistogram('phasegate.decision.duration', {
      description: 'Time that the decision on a call took, with the checks',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1, 10] },
    }),
  };
}
