import type { TraceEvent, TraceFormat } from './format.ts';
import { FORMATS } from './formats/index.ts';
import { lookAhead } from './head.ts';
import { kindOf } from './json.ts';
import type { TraceStream } from './open-file.ts';
import { PeekableSource } from './source.ts';

// So far a file is looked into for a sign of what it is, such as the first tool call of a long conversation.
const PEEK_VALUES = 10_000;
const PEEK_BYTES = 16 * 2 ** 20;
// So much at least is seen of a file that may be no JSON.
const HEAD_BYTES = 64;

/**
 * Reads a recording. Whatever goes wrong with it becomes a fault among the events.
 *
 * @param format The format, or `undefined` to find it by content.
 */
export async function* readEvents(
  stream: TraceStream,
  format: TraceFormat | undefined,
): AsyncGenerator<readonly TraceEvent[]> {
  let source: PeekableSource | undefined;
  try {
    const { head, bytes } = await lookAhead(stream.bytes, HEAD_BYTES);
    source = new PeekableSource(stream.name, bytes, head);
    const found = format ?? (await findFormat(source));
    if ('fault' in found) {
      yield [{ type: 'fault', line: found.line, message: found.fault }];
      return;
    }
    // Made here, so that what a format throws is caught here.
    for await (const events of found.read(source)) yield [...events];
  } catch (error) {
    yield [{ type: 'fault', message: error instanceof Error ? error.message : String(error) }];
  } finally {
    await source?.close();
  }
}

async function findFormat(source: PeekableSource): Promise<TraceFormat | { fault: string; line?: number }> {
  const byHead = FORMATS.find((format) => format.detectHead?.(source.head) === true);
  if (byHead !== undefined) return byHead;
  let candidates = FORMATS.map((format) => ({ format, likely: false }));
  let broken: { fault: string; line: number } | undefined;
  let seen = 0;
  for await (const items of source.peek()) {
    for (const item of items) {
      seen += 1;
      if (item.fault !== undefined) {
        broken ??= { fault: `${item.fault}. ${KNOWN}`, line: item.line };
        continue;
      }
      const judged = candidates.map(({ format }) => ({ format, says: format.detect?.(item.value) ?? 'no' }));
      const found = judged.find(({ says }) => says === 'yes');
      if (found !== undefined) return found.format;
      candidates = judged
        .filter(({ says }) => says === 'maybe')
        .map(({ format }) => ({ format, likely: true }));
      if (candidates.length === 0) {
        return { fault: `no known format holds ${kindOf(item.value)}. ${KNOWN}`, line: item.line };
      }
    }
    if (seen >= PEEK_VALUES || source.bytesSeen >= PEEK_BYTES) break;
  }
  return (
    candidates.find(({ likely }) => likely)?.format ?? broken ?? { fault: `the file is empty. ${KNOWN}` }
  );
}

const KNOWN = `Known are: ${FORMATS.map(({ name }) => name).join(', ')}; another is given as --format ./mine.mjs`;
