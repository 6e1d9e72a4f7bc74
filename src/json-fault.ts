import { describe } from './describe.ts';

// What may come next. After a value that depends on what it is in.
const EXPECTED = {
  value: 'a value',
  'first value': 'a value or "]"',
  key: 'a key in double quotes',
  'first key': 'a key in double quotes or "}"',
  colon: '":"',
  more: undefined,
};
type Step = keyof typeof EXPECTED;

// All but white space is a token. A text that is not closed ends with its line.
const TOKEN = /[{}[\],:]|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?|[^ \t\r\n{}[\],:"]+/g;
const CLOSED = /^"[^"\\]*(?:\\.[^"\\]*)*"$/;

/**
 * The first place from which on a text is no JSON, and what was expected there; `undefined` when all of it is JSON. The
 * engine's own error is no help: each words it in its own way, and few say where.
 */
export function findJsonFault(text: string): { offset: number; message: string } | undefined {
  const closers: string[] = [];
  let step: Step = 'value';
  // A byte order mark may come first.
  for (const { 0: token, index } of text.replace(/^\uFEFF/, ' ').matchAll(TOKEN)) {
    const next = stepAfter(step, token, closers);
    if (next === undefined) return { offset: index, message: messageAt(step, token, closers.at(-1)) };
    step = next;
  }
  if (step === 'more' && closers.length === 0) return undefined;
  return { offset: text.length, message: messageAt(step, undefined, closers.at(-1)) };
}

/** What may come after a token; `undefined` when it may not be there. */
function stepAfter(step: Step, token: string, closers: string[]): Step | undefined {
  const closer = closers.at(-1);
  if (token === closer && (step === 'more' || step.startsWith('first'))) {
    closers.pop();
    return 'more';
  }
  switch (step) {
    case 'value':
    case 'first value':
      if (token !== '{' && token !== '[') return isJson(token) ? 'more' : undefined;
      closers.push(token === '{' ? '}' : ']');
      return token === '{' ? 'first key' : 'first value';
    case 'key':
    case 'first key':
      return token.startsWith('"') && isJson(token) ? 'colon' : undefined;
    case 'colon':
      return token === ':' ? 'value' : undefined;
    case 'more':
      if (token !== ',' || closer === undefined) return undefined;
      return closer === '}' ? 'key' : 'value';
  }
}

function messageAt(step: Step, token: string | undefined, closer: string | undefined): string {
  if (token?.startsWith('"') && step !== 'more' && step !== 'colon') {
    return CLOSED.test(token)
      ? 'is no JSON: this text has a control character in it, or an escape that JSON does not know'
      : 'is no JSON: this text has no closing " on its line';
  }
  const expected = EXPECTED[step] ?? (closer === undefined ? 'the end of the file' : `"," or "${closer}"`);
  const comment = /^(?:\/[/*]|#)/.test(token ?? '') ? '; JSON has no comments' : '';
  const got = token === undefined ? 'the end of the file' : describe(token.replace(/^"|"$/g, ''));
  return `is no JSON from here on: expected ${expected}, got ${got}${comment}`;
}

function isJson(token: string): boolean {
  try {
    JSON.parse(token);
    return true;
  } catch {
    return false;
  }
}
