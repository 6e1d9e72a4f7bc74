/** A JSON value of a text, or a piece of the text that is none. */
export type JsonItem = JsonValue | JsonFault;

/** A line of JSON lines, an element of an outermost array, or a whole document. */
export interface JsonValue {
  readonly value: unknown;
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** Which outermost array of the text it is an element of, from 0; `null` for none. */
  readonly array: number | null;
  readonly fault?: undefined;
}

/** A piece of the text that is no JSON. What comes after it is read where that can be done. */
export interface JsonFault {
  readonly fault: string;
  readonly line: number;
  readonly value?: undefined;
}

// V8 holds no string of more than 2^29 characters; half of that leaves room for the parser.
const MAX_LENGTH = 2 ** 28;

/**
 * Splits a text into JSON values as it comes, so that neither JSON lines nor an array of runs is ever held as a whole.
 *
 * A text whose first or second line is complete JSON is read line by line: a broken line costs that line only. Any
 * other text is read as values that span lines, where an outermost array counts as its elements.
 */
export class JsonSplitter {
  /** Whether a line is left out, and not parsed. Other values are not asked about. */
  leaveOut: ((line: string) => boolean) | undefined;
  readonly #maxLength: number;
  #mode: 'undecided' | 'lines' | 'values' = 'undecided';
  #opener: string | undefined;
  #buffer = '';
  #line = 1;
  #overlong = false;
  readonly #values: ValueScanner;

  /** @param maxLength Longest value that is read, in characters. */
  constructor(maxLength: number = MAX_LENGTH) {
    this.#maxLength = maxLength;
    this.#values = new ValueScanner(maxLength);
  }

  /** Takes the next piece of the text. */
  push(text: string): JsonItem[] {
    if (text === '') return [];
    if (this.#mode === 'values') return this.#values.push(text);
    if (this.#mode === 'lines') return this.#splitLines(text);
    this.#opener ??= /\S/.exec(text)?.[0];
    this.#buffer += text;
    // A look at the buffer copies it, so it is looked at only where that can decide.
    const decidable = this.#opener === '[' || text.includes('\n') || this.#buffer.length > this.#maxLength;
    return decidable ? this.#decide(false) : [];
  }

  /** Takes the end of the text. */
  end(): JsonItem[] {
    const items = this.#mode === 'undecided' ? this.#decide(true) : [];
    if (this.#mode === 'values') items.push(...this.#values.end());
    else if (this.#overlong) items.push(this.#tooLong());
    else if (!isSpace(this.#buffer)) items.push(this.#parseLast());
    return items;
  }

  #decide(atEnd: boolean): JsonItem[] {
    if (this.#opener === undefined) return [];
    if (this.#opener === '[') return this.#readAs('values');
    const text = this.#buffer;
    const first = completeLine(text, 0);
    if (first === undefined) return atEnd || text.length > this.#maxLength ? this.#readAs('lines') : [];
    if (this.#opener === '{' && !isJson(first.text)) {
      const second = completeLine(text, first.end);
      if (second === undefined && !atEnd) return [];
      if (!isJson(second?.text ?? text.slice(first.end))) return this.#readAs('values');
    }
    return this.#readAs('lines');
  }

  #readAs(mode: 'lines' | 'values'): JsonItem[] {
    const text = this.#buffer;
    this.#buffer = '';
    this.#mode = mode;
    return this.push(text);
  }

  #splitLines(text: string): JsonItem[] {
    const items: JsonItem[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = this.#buffer === '' ? text.slice(start, end) : this.#buffer + text.slice(start, end);
      this.#buffer = '';
      if (this.#overlong || line.length > this.#maxLength) items.push(this.#tooLong());
      else if (line !== '' && !this.leaveOut?.(line)) {
        const item = parseAt(line, this.#line, null);
        // Asked of what is no JSON only, as it takes its time with millions of lines.
        if (item.fault === undefined || !isSpace(line)) items.push(item);
      }
      this.#overlong = false;
      this.#line += 1;
      start = end + 1;
    }
    if (!this.#overlong) this.#buffer += text.slice(start);
    if (this.#buffer.length > this.#maxLength) {
      this.#buffer = '';
      this.#overlong = true;
    }
    return items;
  }

  #parseLast(): JsonItem {
    const item = parseAt(this.#buffer, this.#line, null);
    if (item.fault === undefined) return item;
    return { fault: `the last line is cut short or broken: ${item.fault}`, line: this.#line };
  }

  #tooLong(): JsonFault {
    return {
      fault: `this line is longer than ${this.#maxLength} characters, the most that can be read`,
      line: this.#line,
    };
  }
}

// Reads values that span lines: documents one after the other, or the elements of arrays.
class ValueScanner {
  readonly #maxLength: number;
  #line = 1;
  #arrays = 0;
  #arrayLine: number | undefined;
  #parts: string[] = [];
  #length = 0;
  #startLine: number | undefined;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #dead = false;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  push(text: string): JsonItem[] {
    const items: JsonItem[] = [];
    let start = 0;
    let at = this.#escaped ? 1 : 0;
    this.#escaped = false;
    while (at < text.length && !this.#dead) {
      if (this.#startLine === undefined) {
        if (this.#between(text.charCodeAt(at), items)) {
          at += 1;
          continue;
        }
        this.#startLine = this.#line;
        start = at;
      }
      const mark = this.#inString ? MARK_IN_STRING : MARK;
      mark.lastIndex = at;
      if (!mark.test(text)) break;
      at = mark.lastIndex;
      const char = text.charCodeAt(at - 1);
      if (char === NEWLINE) {
        this.#line += 1;
      } else if (char === QUOTE) {
        this.#inString = !this.#inString;
      } else if (char === BACKSLASH) {
        this.#escaped = at === text.length;
        at += 1;
      } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
        this.#depth += 1;
      } else if (this.#depth === 0 && this.#arrayLine !== undefined && char !== CLOSE_BRACE) {
        // A comma, or the end of the array.
        this.#take(text.slice(start, at - 1), items);
        if (char === CLOSE_BRACKET) this.#arrayLine = undefined;
      } else if (char !== COMMA) {
        if (this.#depth > 0) this.#depth -= 1;
        if (this.#depth === 0 && this.#arrayLine === undefined) this.#take(text.slice(start, at), items);
      }
    }
    if (this.#startLine !== undefined && !this.#dead) this.#keep(text.slice(start));
    return items;
  }

  end(): JsonItem[] {
    if (this.#dead) return [];
    if (this.#startLine !== undefined) {
      return [
        {
          fault: 'the file ends inside the JSON value that begins here: it is cut short or broken',
          line: this.#startLine,
        },
      ];
    }
    if (this.#arrayLine !== undefined) {
      return [
        { fault: 'the file ends inside the array that begins here: it is cut short', line: this.#arrayLine },
      ];
    }
    return [];
  }

  // Outside of a value: whether the character belongs to none.
  #between(char: number, items: JsonItem[]): boolean {
    if (char === NEWLINE) this.#line += 1;
    if (char === NEWLINE || char === 0x20 || char === 0x09 || char === 0x0d) return true;
    if (this.#arrayLine !== undefined) {
      if (char === COMMA) return true;
      if (char !== CLOSE_BRACKET) return false;
      this.#arrayLine = undefined;
      return true;
    }
    if (char === OPEN_BRACE) return false;
    if (char === OPEN_BRACKET) {
      this.#arrayLine = this.#line;
      this.#arrays += 1;
      return true;
    }
    items.push({
      fault: 'expected a JSON object or array here; the rest of the file is not read',
      line: this.#line,
    });
    this.#dead = true;
    return true;
  }

  #keep(text: string): void {
    this.#length += text.length;
    if (this.#length <= this.#maxLength) this.#parts.push(text);
    else this.#parts = [];
  }

  #take(text: string, items: JsonItem[]): void {
    this.#keep(text);
    const line = this.#startLine ?? this.#line;
    if (this.#length > this.#maxLength) {
      items.push({
        fault: `this JSON value is longer than ${this.#maxLength} characters, the most that can be read`,
        line,
      });
    } else {
      items.push(
        parseAt(this.#parts.join(''), line, this.#arrayLine === undefined ? null : this.#arrays - 1),
      );
    }
    this.#parts = [];
    this.#length = 0;
    this.#startLine = undefined;
    this.#depth = 0;
  }
}

// The characters that are looked at; all others are jumped over.
const MARK = /["{}[\],\n]/g;
const MARK_IN_STRING = /["\\\n]/g;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function parseAt(text: string, line: number, array: number | null): JsonItem {
  try {
    return { value: JSON.parse(text) as unknown, line, array };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = Number(/position (\d+)/.exec(message)?.[1] ?? 0);
    return { fault: `not JSON: ${message}`, line: line + (text.slice(0, at).match(/\n/g)?.length ?? 0) };
  }
}

// The first line from there on that holds anything; `undefined` where it may go on.
function completeLine(text: string, from: number): { text: string; end: number } | undefined {
  let start = from;
  for (let newline = text.indexOf('\n', start); newline !== -1; newline = text.indexOf('\n', start)) {
    const line = text.slice(start, newline);
    start = newline + 1;
    if (!isSpace(line)) return { text: line, end: start };
  }
  return undefined;
}

function isJson(text: string): boolean {
  return parseAt(text, 1, null).fault === undefined;
}

function isSpace(text: string): boolean {
  return text.trim() === '';
}
