/** The fields that a reader looks at, of an object that may hold anything. */
export type Fields<Key extends string> = { readonly [key in Key]?: unknown };

/** The value as an object whose fields can be looked at; `undefined` for an array, `null` and all that is no object. */
export function fieldsOf<Key extends string>(value: unknown): Fields<Key> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields<Key>)
    : undefined;
}

/** The value as a list; empty for all that is no array. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** An id or a name, which may be recorded as a number; `undefined` for all else, and for an empty one. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What kind of value came, for people: never its content, which may be long or private. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    if (value.length === 0) return 'an empty array';
    // Not of what: arrays may lie in arrays deeper than a stack reaches.
    return Array.isArray(value[0]) ? 'an array of arrays' : `an array of ${kindOf(value[0])}`;
  }
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  if (keys.length === 0) return 'an empty object';
  const shown = keys.slice(0, 6).map((key) => JSON.stringify(key.slice(0, 40)));
  return `an object with ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`;
}
