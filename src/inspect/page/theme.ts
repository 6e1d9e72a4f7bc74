import { effect, signal } from '@preact/signals';

/** `auto` follows what the reader's system prefers. */
export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'phasegate-inspect-theme';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

export const theme = signal<Theme>(THEMES.find((name) => name === kept()) ?? 'auto');

/** Auto, light, dark, and around again. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // Storage is off: the choice holds for this page only.
  }
});

function kept(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
