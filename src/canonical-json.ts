import { invalidArgument } from './errors.ts';

/**
 * The one text that a JSON value has, whatever the order of its keys (RFC 8785): what is hashed and signed. As in
 * `JSON.stringify`, a member that is undefined is none, and half a surrogate pair is escaped, so that no two values have the
 * same bytes in UTF-8.
 *
 * @param value As `JSON.parse` gives it, or a literal of plain objects and arrays.
 * @throws {PhasegateError} `invalid-argument` for what JSON cannot say, such as `Infinity`.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((element) => canonicalJson(element)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  const isJson =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value));
  if (!isJson) throw invalidArgument('What is hashed or signed', 'a JSON value', value);
  return JSON.stringify(value);
}
