/**
 * Names a value in an error message. Never runs code of the value's own (`toString`, `toJSON` and getters may
 * throw or lie), and stays short.
 */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return value === null ? 'null' : isArray(value) ? 'an array' : 'an object';
  }
}

/** What an error says, or what else was thrown. Whatever was thrown, this does not throw. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      const { message, name } = thrown;
      if (typeof message === 'string' && message !== '') return message;
      if (typeof name === 'string' && name !== '') return name;
    }
  } catch {
    // A getter or a proxy threw: then what is left is what kind of value it is.
  }
  return describe(thrown);
}

// A proxy that was revoked throws even at this question.
function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
