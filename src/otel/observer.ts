import type { PhasegateEvent } from '../events.ts';
import type { Observer, Scope } from '../observers.ts';
import { Metrics } from './metrics.ts';
import { type OtelOptions, readSettings } from './options.ts';
import type { TracedRun } from './traced-run.ts';
import { Traces } from './traces.ts';

/**
 * Makes an observer that tells OpenTelemetry of runs and calls: a span for each, and metrics. Nothing that a provider, a
 * processor or an exporter does harms a call. It is for one enforcement, and sees the runs that begin after it was given
 * to `enforcement.on`.
 *
 * @param options Where traces and metrics go, and what is in them. Without any they go to the global providers.
 * @throws {PhasegateError} `invalid-argument`.
 * @example
 * const off = enforcement.on(otel({ agentName: 'researcher' }));
 */
export function otel(options: OtelOptions = {}): Observer {
  const settings = readSettings(options);
  const traces = new Traces(settings);
  const metrics = new Metrics(settings);
  return {
    listen(event: PhasegateEvent): void {
      let run: TracedRun | undefined;
      try {
        run = traces.hear(event);
      } finally {
        metrics.hear(event, run);
      }
    },
    inside: (scope: Scope, body: () => unknown) => traces.inside(scope, body),
  };
}
