import { LoopBudget, StepBudget } from './budgets.tsx';
import { ChartCard } from './chart.tsx';
import { choose, summary, track } from './chosen.ts';
import { index } from './cursor.ts';
import { Detail } from './detail.tsx';
import { Glyph } from './glyph.tsx';
import { stateAt } from './run-state.ts';
import { inShort, Said } from './said.tsx';
import { Scrubber } from './scrubber.tsx';
import { runs, unknown } from './store.ts';
import { Timeline } from './timeline.tsx';
import { clock, count } from './words.ts';

/**
 * The chosen run, as it was at the cursor.
 *
 * @param run Its key.
 */
export function RunView({ run }: { readonly run: string }) {
  return (
    <main class="run" aria-label="Run">
      <RunHead />
      <ChartCard key={run} run={run} />
      <Scrubber />
      <Timeline />
      <Detail />
    </main>
  );
}

function RunHead() {
  const run = track.value;
  const told = summary.value;
  const frame = run?.at(index.value) ?? null;
  const state = run === null ? null : stateAt(run, index.value);
  const name = run?.id ?? told?.run ?? 'outside of any run';
  const parent = told?.parent ?? null;
  return (
    <header class="run-head">
      <div class="who">
        <button type="button" class="plain back" onClick={() => choose(null)}>
          <Glyph name="back" /> All runs
        </button>
        <h2>
          <Said text={name} />
        </h2>
        <p class="what">
          <span class={state?.tone}>
            {state !== null && <Glyph name={state.glyph} />} {state?.word}
            {frame?.reason != null && (
              <>
                : <Said text={frame.reason} longest={120} />
              </>
            )}
          </span>
          {frame !== null && frame.refused > 0 && (
            <span class="of-refused">
              <Glyph name="refused" /> {frame.refused} refused
            </span>
          )}
          {frame !== null && frame.failed > 0 && (
            <span class="of-failed">
              <Glyph name="failed" /> {frame.failed} failed
            </span>
          )}
          {frame !== null && frame.inFlight > 0 && <span>{count(frame.inFlight, 'call')} in flight</span>}
          {frame !== null && frame.waiting > 0 && <span>{count(frame.waiting, 'call')} waiting</span>}
          {told?.clock === 'time' && told.startedAt !== null && <span>begun {clock(told.startedAt)}</span>}
          {told !== null && <Said text={told.source} longest={60} />}
          {run?.terms.dfa === false && <span>budgets and table are off</span>}
          {parent !== null && runs.value.has(parent) && (
            <button type="button" class="plain" onClick={() => choose(parent)}>
              child of {inShort(runs.value.get(parent)?.run ?? parent, 40)}
            </button>
          )}
          {unknown.value !== null && (
            <span class="of-failed">
              <Glyph name="warning" /> the server keeps this run no longer
            </span>
          )}
        </p>
      </div>
      <StepBudget used={frame?.stepCount ?? 0} limit={run?.terms.maxSteps ?? null} />
      <LoopBudget
        used={frame?.loopCount ?? 0}
        limit={run?.terms.maxLoopsPerPhase ?? null}
        phase={frame === null || frame.finished ? null : frame.phase}
      />
    </header>
  );
}
