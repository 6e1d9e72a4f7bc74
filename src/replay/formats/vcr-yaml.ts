import type { Document } from 'yaml';

// A text of this length, in characters, needs some gigabytes while it is read.
const MAX_LENGTH = 2 ** 25;

/** An exchange of a cassette, or what is wrong with it. */
export interface YamlExchange {
  readonly exchange?: unknown;
  readonly line: number;
  readonly fault?: string | undefined;
}

/** The entries of `interactions` in a YAML document, with the lines on which they begin. */
export async function* readYamlCassette(
  pieces: AsyncIterable<string>,
  maxLength: number = MAX_LENGTH,
): AsyncGenerator<YamlExchange> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length > maxLength) {
      yield { line: 1, fault: `the cassette has more than ${maxLength} characters, the most that is read` };
      return;
    }
  }
  // Loaded when a cassette is read, so that no one else pays for it.
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const options = { lineCounter: lines, prettyErrors: false, logLevel: 'error' } as const;
  let document: Document.Parsed;
  try {
    document = yaml.parseDocument(text, options);
  } catch (error) {
    // Values may lie in each other deeper than the parser can follow.
    yield { line: 1, fault: `the cassette cannot be read: ${(error as Error).message}` };
    return;
  }
  const lineOf = (offset: number | undefined) => lines.linePos(offset ?? 0).line;
  for (const { message, pos } of document.errors)
    yield { line: lineOf(pos[0]), fault: `not YAML: ${message}` };
  const interactions = yaml.isMap(document.contents) ? document.contents.get('interactions') : undefined;
  if (!yaml.isSeq(interactions)) {
    yield { line: 1, fault: 'expected a list of "interactions", and there is none' };
    return;
  }
  for (const item of interactions.items) {
    const line = lineOf(yaml.isNode(item) ? item.range?.[0] : undefined);
    try {
      // Aliases of aliases may stand for more than the memory holds: the library refuses that.
      yield { exchange: yaml.isNode(item) ? item.toJS(document) : item, line };
    } catch (error) {
      yield { line, fault: `the exchange cannot be read: ${(error as Error).message}` };
    }
  }
}
