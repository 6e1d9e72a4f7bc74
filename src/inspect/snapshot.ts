/**
 * A copy of a value that may be of any size and hold anything, as JSON can hold it. It runs no code of the value's own (getters,
 * `toJSON`), and copies no more than somebody would look at.
 */
export function snapshot(value: unknown): unknown {
  try {
    return new Copier().copy(value, 0);
  } catch {
    // A proxy may throw at anything.
    return '[unreadable]';
  }
}

const DEPTH_LIMIT = 8;
const VALUES_LIMIT = 500;
const TEXT_LIMIT = 4_000;

class Copier {
  #left = VALUES_LIMIT;
  // Characters that there is room for.
  #room = 16_000;

  copy(value: unknown, depth: number): unknown {
    this.#left -= 1;
    switch (typeof value) {
      case 'string':
        return this.#copyText(value);
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'boolean':
        return value;
      case 'bigint':
        return `${value}n`;
      case 'object':
        return value === null ? null : this.#copyObject(value, depth);
      default:
        return `[${typeof value}]`;
    }
  }

  #copyText(text: string): string {
    const limit = Math.min(TEXT_LIMIT, this.#room);
    this.#room -= Math.min(text.length, limit);
    return text.length <= limit ? text : `${text.slice(0, limit)}…`;
  }

  #copyObject(value: object, depth: number): unknown {
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (depth >= DEPTH_LIMIT) return '…';
    return Array.isArray(value) ? this.#copyList(value, depth) : this.#copyFields(value, depth);
  }

  #copyList(list: readonly unknown[], depth: number): unknown[] {
    const copy: unknown[] = [];
    for (let index = 0; index < list.length; index++) {
      if (this.#left <= 0) return [...copy, '…'];
      copy.push(this.#copyField(list, index, depth));
    }
    return copy;
  }

  #copyFields(value: object, depth: number): unknown {
    const copy: [string, unknown][] = [];
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      if (this.#left <= 0) {
        copy.push(['…', '…']);
        break;
      }
      copy.push([this.#copyText(key), this.#copyField(value, key, depth)]);
    }
    return Object.fromEntries(copy);
  }

  #copyField(value: object, key: string | number, depth: number): unknown {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property === undefined) return null;
    return 'value' in property ? this.copy(property.value, depth + 1) : '[getter]';
  }
}
