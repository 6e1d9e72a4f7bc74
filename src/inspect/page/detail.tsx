import type { ComponentChildren } from 'preact';
import type { CallTrack, RunTrack } from '../run-model.ts';
import { callShown } from './call-state.ts';
import { choose, summary, track } from './chosen.ts';
import { goTo, index } from './cursor.ts';
import { Glyph } from './glyph.tsx';
import { picked, shownRow } from './picked.ts';
import { stateAt } from './run-state.ts';
import { Said, SaidInLines } from './said.tsx';
import { runs } from './store.ts';
import { clock, duration, outOf } from './words.ts';

/** All that is known of the call or child run that was picked, or of the call that the cursor is at. */
export function Detail() {
  const { row } = shownRow.value;
  const at = index.value;
  return (
    <section class="card call" aria-label="Details">
      <header>
        <h3>
          {row === null ? (
            'Details'
          ) : row.call === undefined ? (
            <Said text={row.run.id ?? 'outside of any run'} />
          ) : (
            <Said text={row.call.tool} />
          )}
        </h3>
        {picked.value !== null && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              picked.value = null;
            }}
          >
            Follow the cursor
          </button>
        )}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what is longer than the card. */}
      <div class="body" tabIndex={0}>
        {row === null ? (
          <p class="quiet">No call yet.</p>
        ) : row.call === undefined ? (
          <OfRun run={row.run} at={at} />
        ) : (
          <OfCall call={row.call} at={at} />
        )}
      </div>
    </section>
  );
}

const VERDICTS = {
  'to-come': 'Not asked for yet',
  waiting: 'Waits its turn',
  running: 'Admitted, and running',
  ran: 'Admitted, and ended well',
  late: 'Admitted, and ended after its run',
  failed: 'Admitted, and failed',
  interrupted: 'Admitted; its run was resumed without it',
  refused: 'Refused:',
} as const;

function OfCall({ call, at }: { readonly call: CallTrack; readonly at: number }) {
  const inOrder = summary.value?.clock === 'order';
  const { kind, glyph, tone } = callShown(call, at, inOrder);
  const decision = call.refused ?? call.started;
  const decided = decision !== null && decision.index <= at ? decision : null;
  const ended = call.ended !== null && call.ended.index <= at ? call.ended : null;
  return (
    <>
      <p class={`verdict ${tone}`}>
        <Glyph name={glyph} />
        {VERDICTS[kind]}
        {kind === 'refused' && <Said text={call.refusal?.code ?? ''} longest={60} />}
      </p>
      {kind === 'refused' && <Why tone="of-refused" text={call.refusal?.message ?? ''} />}
      {kind === 'failed' && call.error !== null && <Why tone="of-failed" text={call.error} />}
      <dl>
        {call.id !== null && (
          <Line name="Call">
            <Said text={call.id} />
          </Line>
        )}
        {call.parent !== null && (
          <Line name="Inside of">
            <Said text={call.parent.tool} />
          </Line>
        )}
        {call.run !== track.value && (
          <Line name="Run">
            <Said text={call.run.id ?? 'outside of any run'} />
          </Line>
        )}
        {decided !== null && (
          <Decision call={call} decided={decided.index} after={(ended ?? decided).index} />
        )}
        {!inOrder && (
          <>
            {kind !== 'to-come' && <Line name="Asked at">{clock(call.asked.time)}</Line>}
            {decided !== null && call.waitedMs !== null && (
              <Line name="Waited">{duration(call.waitedMs)}</Line>
            )}
            {decided !== null && call.decisionMs !== null && (
              <Line name="Decided in">{duration(call.decisionMs)}</Line>
            )}
            {ended !== null && call.started !== null && (
              <Line name="Ran for">{duration(ended.time - call.started.time)}</Line>
            )}
          </>
        )}
      </dl>
      {decision !== null && decision.index !== at && (
        <button type="button" class="link" onClick={() => goTo(decision.index)}>
          Go to its decision
        </button>
      )}
      {call.children.map((run) => (
        <Open key={run.key} run={run} />
      ))}
    </>
  );
}

/**
 * What a decision did to the run.
 *
 * @param decided The event that told of it.
 * @param after The latest event of the call.
 */
function Decision(props: { readonly call: CallTrack; readonly decided: number; readonly after: number }) {
  const { call, decided, after } = props;
  const { run, refusal, hops } = call;
  const before = run.at(decided - 1);
  const frame = run.at(after);
  const { maxSteps } = run.terms;
  return (
    <>
      {refusal?.stage != null && (
        <Line name="Stage">
          <Said text={refusal.stage} />
        </Line>
      )}
      <Line name="Phase before">
        <Said text={hops[0] ?? before?.phase ?? 'not known'} />
      </Line>
      <Line name="Phase after">
        <Said text={frame?.phase ?? 'not known'} />
      </Line>
      <Line name="Steps used">{outOf(frame?.stepCount ?? 0, maxSteps)}</Line>
      {maxSteps !== null && <Line name="Steps left">{Math.max(0, maxSteps - (frame?.stepCount ?? 0))}</Line>}
    </>
  );
}

function OfRun({ run, at }: { readonly run: RunTrack; readonly at: number }) {
  const state = stateAt(run, at);
  const frame = run.at(at);
  return (
    <>
      <p class={`verdict ${state?.tone ?? 'of-quiet'}`}>
        <Glyph name={state?.glyph ?? 'to-come'} />
        Child run, {state?.word ?? 'not begun yet'}
      </p>
      {frame?.reason != null && <Why tone="of-failed" text={frame.reason} />}
      {frame !== null && (
        <dl>
          <Line name="Phase">
            <Said text={frame.phase ?? 'not known'} />
          </Line>
          <Line name="Steps used">{outOf(frame.stepCount, run.terms.maxSteps)}</Line>
          <Line name="Budget">{run.terms.budget}</Line>
          <Line name="Calls">{frame.calls}</Line>
          <Line name="Refused">{frame.refused}</Line>
        </dl>
      )}
      <Open run={run} />
    </>
  );
}

function Open({ run: { key, id } }: { readonly run: RunTrack }) {
  if (key === null || !runs.value.has(key)) return null;
  return (
    <button type="button" class="link" onClick={() => choose(key)}>
      <Glyph name="branch" /> Open <Said text={id ?? key} longest={40} />
    </button>
  );
}

function Why({ tone, text }: { readonly tone: string; readonly text: string }) {
  return (
    <div class={`why ${tone}`}>
      <SaidInLines text={text} />
    </div>
  );
}

function Line({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
