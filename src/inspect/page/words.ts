/** A length of time as people say it. */
export function duration(ms: number): string {
  if (ms < 1) return ms === 0 ? '0 ms' : `${Number(ms.toPrecision(2))} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** A time of day; with the date where that is not today's. */
export function clock(time: number, now = Date.now()): string {
  const date = new Date(time);
  const today = new Date(now).toDateString() === date.toDateString();
  return date.toLocaleString([], {
    ...(!today && { month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

/** `1 call`, `2 calls`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many.toLocaleString()} ${many === 1 ? one : more}`;
}

/** `3/50`, or `3` where there is no limit. */
export function outOf(used: number, limit: number | null): string {
  return limit === null ? String(used) : `${used}/${limit}`;
}
