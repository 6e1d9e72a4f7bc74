import { chosen, track } from './chosen.ts';
import { INGEST_ADDRESS } from './connection.ts';
import { Glyph } from './glyph.tsx';
import { Help, helping } from './help.tsx';
import { RunList } from './run-list.tsx';
import { RunView } from './run-view.tsx';
import { Said } from './said.tsx';
import { dropped, hello, link, locked, ready, runs, unknown } from './store.ts';
import { nextTheme, theme } from './theme.ts';
import { count } from './words.ts';

export function App() {
  return (
    <div class="app" data-pane={chosen.value === null && runs.value.size > 0 ? 'runs' : 'run'}>
      <Top />
      <RunList />
      {chosen.value !== null && track.value !== null ? <RunView run={chosen.value} /> : <Nothing />}
      <Help />
    </div>
  );
}

function Top() {
  return (
    <header class="top">
      <h1>
        phasegate <span>inspect</span>
      </h1>
      <Losses />
      <Link />
      <button
        type="button"
        class="icon"
        title={`Colours: ${THEMES[theme.value]} (T)`}
        aria-label={`Colours: ${THEMES[theme.value]}`}
        onClick={nextTheme}
      >
        <Glyph name={theme.value} />
      </button>
      <button
        type="button"
        class="icon"
        title="Keys (?)"
        aria-label="Keys"
        onClick={() => {
          helping.value = true;
        }}
      >
        ?
      </button>
    </header>
  );
}

const THEMES = { auto: 'as the system', light: 'light', dark: 'dark' } as const;

function Link() {
  if (link.value === 'lost') {
    return (
      <p class="link-state lost" role="status">
        <Glyph name="warning" />
        {locked.value === null ? 'Connection lost, trying again …' : 'Not connected'}
      </p>
    );
  }
  const said = hello.value;
  return (
    <p class="link-state" role="status">
      {link.value === 'connecting' || said === null ? (
        'Connecting …'
      ) : (
        <>
          <span class={said.live ? 'of-live' : 'of-quiet'}>
            <Glyph name={said.live ? 'live' : 'ended'} />
          </span>
          <Said text={said.title || (said.live ? 'live' : 'at rest')} longest={60} />
        </>
      )}
    </p>
  );
}

/** What is not there to be seen. */
function Losses() {
  const now = dropped.value;
  if (now === null) return null;
  const lost = now.lost.reduce((sum, { events }) => sum + events, 0);
  if (lost + now.runsLetGo + now.faultCount === 0) return null;
  const words = [
    lost > 0 && `${count(lost, 'event')} dropped`,
    now.runsLetGo > 0 && `${count(now.runsLetGo, 'run')} let go`,
    now.faultCount > 0 && `${count(now.faultCount, 'line')} unreadable`,
  ];
  return (
    <details class="notice">
      <summary>
        <Glyph name="warning" /> {words.filter(Boolean).join(', ')}
      </summary>
      <ul>
        {now.lost.map(({ source, events }, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two processes may have one name.
          <li key={number}>
            <Said text={source} /> lost {count(events, 'event')} before they came here.
          </li>
        ))}
        {now.runsLetGo > 0 && (
          <li>
            {count(now.runsLetGo, 'finished run')} with {count(now.eventsLetGo, 'event')} were let go to keep
            within the server's memory.
          </li>
        )}
        {now.faults.map(({ file, line, message }, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are only ever added to.
          <li key={number}>
            <Said text={line === null ? file : `${file}:${line}`} />: <Said text={message} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What the page shows in place of a run. */
function Nothing() {
  return (
    <main class="run empty-run" aria-label="Run">
      <div class="empty">
        {locked.value !== null ? (
          <Locked reason={locked.value} />
        ) : chosen.value === null ? (
          <NoneChosen />
        ) : (
          <NotThere />
        )}
      </div>
    </main>
  );
}

function Locked({ reason }: { readonly reason: string }) {
  return (
    <>
      <h2>This address opens nothing</h2>
      <p role="status">
        <Said text={reason} longest={400} />.
      </p>
    </>
  );
}

function NoneChosen() {
  if (!ready.value) return <p role="status">Asking for the runs …</p>;
  if (runs.value.size > 0) return <p>Choose a run to see where it is and what it did.</p>;
  if (hello.value?.live === false) return <p>No run is in what was read.</p>;
  return (
    <>
      <h2>Waiting for the first run</h2>
      <p>Let an enforcement, in any process on this machine, stream here:</p>
      <pre>{`import { inspectTo } from 'phasegate/inspect';\n\nenforcement.on(inspectTo('${INGEST_ADDRESS}'));`}</pre>
      <p>Its runs show as they happen. Nothing leaves this machine.</p>
    </>
  );
}

function NotThere() {
  if (unknown.value === null) return <p role="status">Asking for the run …</p>;
  return (
    <>
      <h2>This run is not kept any more</h2>
      <p>
        The server has let it go to keep within its memory, or was started anew. What is recorded in a file
        can be opened with
      </p>
      <pre>phasegate inspect --file runs.jsonl</pre>
    </>
  );
}
