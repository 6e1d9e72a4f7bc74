import { openTrace, type TraceStream } from '../replay/open-file.ts';

/** What people are told where the result is one of a part of the input. */
export const INTERRUPTED = 'interrupted: this is what was read until then';

/**
 * The recordings, which end where they are when the user interrupts the command: so what was read until then is told, with
 * the runs that were open.
 */
export async function* untilInterrupted(
  files: readonly (string | TraceStream)[],
  signal: AbortSignal,
): AsyncGenerator<TraceStream> {
  for (const file of files) {
    if (signal.aborted) return;
    const { name, bytes } = openTrace(file);
    yield { name, bytes: bytesUntil(bytes, signal) };
  }
}

async function* bytesUntil(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of bytes) {
      if (signal.aborted) return;
      yield chunk;
    }
  } catch (error) {
    // Standard input is torn off, which is no fault of it.
    if (!signal.aborted) throw error;
  }
}
