import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { chosen, suggest } from './chosen.ts';
import { connect } from './connection.ts';
import { helping } from './help.tsx';
import { listenToKeys } from './keys.ts';
import { toggleFollowing } from './scrubber.tsx';
import { ready, runs } from './store.ts';

render(<App />, document.body);
connect();
listenToKeys({
  toggleFollowing,
  help: () => {
    helping.value = true;
  },
});

// Where there is room for both, a run is shown beside the list from the first.
const roomForBoth = matchMedia('(min-width: 721px)');
effect(() => {
  if (chosen.value !== null || !ready.value || runs.value.size === 0 || !roomForBoth.matches) return;
  const [latest] = [...runs.value.values()]
    .filter(({ parent }) => parent === null)
    .sort((a, b) => (b.startedAt ?? b.lastAt) - (a.startedAt ?? a.lastAt));
  if (latest !== undefined) suggest(latest.key);
});
