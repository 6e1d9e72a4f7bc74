import { goTo, length, step, togglePlaying } from './cursor.ts';
import { nextTheme } from './theme.ts';
import { fitTo, pan, zoom } from './timeline-window.ts';

interface Others {
  readonly toggleFollowing: () => void;
  readonly help: () => void;
}

/** Takes the keys that no control has taken for itself. */
export function listenToKeys({ toggleFollowing, help }: Others): void {
  const actions = new Map<string, () => void>([
    ['ArrowLeft', () => step(-1)],
    ['ArrowRight', () => step(1)],
    ['Home', () => goTo(0)],
    ['End', () => goTo(length.peek() - 1)],
    [' ', togglePlaying],
    ['l', toggleFollowing],
    ['+', () => zoom(0.5)],
    ['=', () => zoom(0.5)],
    ['-', () => zoom(2)],
    ['0', () => fitTo('run')],
    ['<', () => pan(-0.25)],
    ['>', () => pan(0.25)],
    ['/', () => document.getElementById('search')?.focus()],
    ['t', nextTheme],
    ['?', help],
  ]);
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]') !== null || isTakenBy(event.target, event.key)) return;
    const action = actions.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

// A field takes all keys; a slider its arrows, a button the space bar.
function isTakenBy(target: EventTarget | null, key: string): boolean {
  if (target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLInputElement)
    return target.type !== 'range' || /^(Arrow|Home|End|Page)/.test(key);
  return target instanceof HTMLElement && key === ' ' && target.closest('button, summary') !== null;
}
