import { styleText } from 'node:util';

/** What a command reads from and writes to. */
export interface Io {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  /** Aborted when the user interrupts the command. */
  readonly signal: AbortSignal;
}

/** What the environment says about the output. */
export interface Environment {
  readonly FORCE_COLOR?: string | undefined;
  readonly NO_COLOR?: string | undefined;
  readonly TERM?: string | undefined;
  /** Where it is set, a fault of phasegate itself shows where it arose. */
  readonly PHASEGATE_DEBUG?: string | undefined;
  /** Where `phasegate inspect` is to be, with its token. */
  readonly PHASEGATE_INSPECT?: string | undefined;
}

/** A stream that text is written to, such as `process.stdout`. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  /** @returns `false` when what was written has not left yet, and more should wait for `drain`. */
  write(text: string): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

/** Paints a text, or leaves it as it is where no colours are wanted. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** How to paint on a stream: colours on a terminal only, unless FORCE_COLOR or NO_COLOR says otherwise. */
export function paintOn(output: Output, env: Environment): Paint {
  return wantsColour(output, env)
    ? (format, text) => styleText(format, text, { validateStream: false })
    : (_, text) => text;
}

function wantsColour(output: Output, env: Environment): boolean {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  if (env.NO_COLOR) return false;
  return output.isTTY === true && env.TERM !== 'dumb';
}

/** How many characters fit into a line: those of the terminal, else 80. */
export function widthOf(output: Output): number {
  return output.isTTY === true && output.columns !== undefined && output.columns > 0 ? output.columns : 80;
}

/** Writes a line. Await it, so that output which no one takes up does not pile up. */
export async function writeLine(output: Output, text: string): Promise<void> {
  if (output.write(`${text}\n`)) return;
  await new Promise<void>((resolve) => output.once('drain', resolve));
}
