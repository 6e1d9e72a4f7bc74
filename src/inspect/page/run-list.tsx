import { computed, signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { RunSummary } from '../protocol.ts';
import { Bar } from './budgets.tsx';
import { choose, chosen } from './chosen.ts';
import { Glyph } from './glyph.tsx';
import { grouped } from './grouped.ts';
import { RowList } from './row-list.tsx';
import { stateOf } from './run-state.ts';
import { inShort, Said } from './said.tsx';
import { locked, ready, runs } from './store.ts';
import { clock, count, outOf } from './words.ts';

const ROW = 56;
// Nobody reads more, and each is an element.
const PHASES_LISTED = 200;

const text = signal('');
const phase = signal('');
const onlyLive = signal(false);
const onlyRefused = signal(false);
/** The run that the keyboard is at. */
const at = signal<string | null>(null);

interface Listed {
  readonly run: RunSummary;
  readonly depth: number;
}

const phases = computed(() =>
  [...new Set([...runs.value.values()].flatMap((run) => run.phase ?? []))].slice(0, PHASES_LISTED).sort(),
);

/** The runs that the filters let through, the latest first, child runs under the nearest run around them. */
const listed = computed(() => {
  const sought = text.value.trim().toLowerCase();
  const through = new Map(
    [...runs.value].filter(
      ([, run]) =>
        (!onlyLive.value || run.live) &&
        (!onlyRefused.value || run.refused > 0) &&
        (phase.value === '' || run.phase === phase.value) &&
        (sought === '' || searchable(run).includes(sought)),
    ),
  );
  const inside = grouped(through.values(), (run) => parentIn(through, run));
  const rows: Listed[] = [];
  const list = (parent: string | null, depth: number) => {
    const group = inside.get(parent) ?? [];
    group.sort((a, b) => (depth === 0 ? begun(b) - begun(a) : begun(a) - begun(b)));
    for (const run of group) {
      rows.push({ run, depth });
      list(run.key, depth + 1);
    }
  };
  list(null, 0);
  return rows;
});

export function RunList() {
  const search = useRef<HTMLInputElement>(null);
  const rows = listed.value;
  const placeOf = (key: string | null) => (key === null ? -1 : rows.findIndex(({ run }) => run.key === key));
  const filtered = rows.length < runs.value.size;
  return (
    <nav class="runs" aria-label="Runs">
      <search class="filters">
        <input
          ref={search}
          id="search"
          type="search"
          placeholder="Find runs"
          aria-label="Find runs by id, source, tool or reason"
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
        <div>
          <select
            aria-label="Phase"
            value={phase.value}
            onChange={({ currentTarget }) => {
              phase.value = currentTarget.value;
            }}
          >
            <option value="">Any phase</option>
            {phases.value.map((name) => (
              <option key={name} value={name}>
                {inShort(name, 40)}
              </option>
            ))}
          </select>
          <Toggle on={onlyLive}>Live</Toggle>
          <Toggle on={onlyRefused}>Refused</Toggle>
        </div>
        <p class="count" role="status">
          {filtered ? `${rows.length.toLocaleString()} of ` : ''}
          {count(runs.value.size, 'run')}
        </p>
      </search>
      {rows.length === 0 ? (
        <p class="empty quiet">{filtered ? 'No run is like that.' : whyNone()}</p>
      ) : (
        <RowList
          id="run"
          label="Runs"
          count={rows.length}
          rowHeight={ROW}
          at={placeOf(at.value)}
          selected={placeOf(chosen.value)}
          onMove={(index) => {
            at.value = rows[index]?.run.key ?? null;
          }}
          onSelect={(index) => {
            at.value = rows[index]?.run.key ?? null;
            choose(at.value);
          }}
          row={(index) => rowOf(rows[index] as Listed)}
        />
      )}
    </nav>
  );
}

function whyNone(): string {
  if (locked.value !== null) return 'Not connected.';
  return ready.value ? 'No run yet.' : 'Asking for the runs …';
}

function Toggle({ on, children }: { readonly on: { value: boolean }; readonly children: string }) {
  return (
    <button
      type="button"
      aria-pressed={on.value}
      onClick={() => {
        on.value = !on.value;
      }}
    >
      {children}
    </button>
  );
}

function rowOf({ run, depth }: Listed) {
  const { word, glyph, tone } = stateOf(run);
  const began = run.clock === 'time' && run.startedAt !== null ? clock(run.startedAt) : '';
  const steps = outOf(run.stepCount, run.maxSteps);
  const words = [
    run.live ? `live, in ${run.phase ?? 'an unknown phase'}` : word,
    `${steps} steps`,
    run.refused > 0 && `${run.refused} refused`,
    depth > 0 && 'child run',
  ];
  return {
    key: run.key,
    label: `${nameOf(run)}: ${words.filter(Boolean).join(', ')}`,
    indent: Math.min(depth, 6),
    content: (
      <>
        <span class={tone}>
          <Glyph name={glyph} />
        </span>
        <span class="name">{run.run === null ? 'outside of any run' : <Said text={run.run} />}</span>
        <span class="when">{began}</span>
        <span class="state">
          <span class={tone}>{run.live ? <Said text={run.phase ?? 'live'} longest={40} /> : word}</span>
          {run.refused > 0 && <span class="of-refused">⊘ {run.refused} refused</span>}
          <Said text={run.source} longest={60} />
        </span>
        <span class="steps">
          {steps}
          <span class="bars" title={`Steps ${steps}, loops ${outOf(run.loopCount, run.maxLoopsPerPhase)}`}>
            <Bar used={run.stepCount} limit={run.maxSteps} />
            <Bar used={run.loopCount} limit={run.maxLoopsPerPhase} />
          </span>
        </span>
      </>
    ),
  };
}

function nameOf(run: RunSummary): string {
  return run.run === null ? 'outside of any run' : inShort(run.run, 80);
}

function begun({ startedAt, lastAt }: RunSummary): number {
  return startedAt ?? lastAt;
}

function parentIn(through: ReadonlyMap<string, RunSummary>, run: RunSummary): string | null {
  const passed = new Set([run.key]);
  for (let key = run.parent; key !== null && !passed.has(key); key = runs.value.get(key)?.parent ?? null) {
    if (through.has(key)) return key;
    passed.add(key);
  }
  return null;
}

// A summary is replaced, never changed.
const found = new WeakMap<RunSummary, string>();

function searchable(run: RunSummary): string {
  let words = found.get(run);
  if (words === undefined) {
    const { lastRefusal } = run;
    words = [
      run.run,
      run.source,
      run.lastTool,
      run.reason,
      lastRefusal?.code,
      lastRefusal?.message,
      lastRefusal?.tool,
    ]
      .join('\n')
      .toLowerCase();
    found.set(run, words);
  }
  return words;
}
