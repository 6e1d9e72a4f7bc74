import { type Config, ConfigError, type ConfigFault, parseConfig } from './config.ts';
import { invalidArgument, PhasegateError } from './errors.ts';

/**
 * Reads a configuration from a file, YAML or JSON. Needs a platform with files: Node, Bun or Deno.
 *
 * @param path The file.
 * @throws {ConfigError} with every fault and its line and column.
 * @throws {PhasegateError} `file-unreadable`.
 * @example const enforcement = createEnforcement({ config: await loadConfig('phasegate.yaml') });
 */
export async function loadConfig(path: string): Promise<Config> {
  if (typeof path !== 'string' || path === '') throw invalidArgument('path', 'the path of a file', path);
  const text = await readText(path);
  // Loaded when a file is read, so that no one else pays for it. YAML holds JSON too, and its nodes know their place.
  const { isNode, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number | undefined) => {
    if (offset === undefined) return {};
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  if (document.errors.length > 0) {
    throw new ConfigError(
      path,
      document.errors.map(({ message, pos }) => ({ path: [], message, ...place(pos[0]) })),
    );
  }
  try {
    return parseConfig(document.toJS() ?? {}, path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const located = error.faults.map((fault): ConfigFault => {
      const node = document.getIn(fault.path, true);
      return { ...fault, ...place(isNode(node) ? node.range?.[0] : undefined) };
    });
    throw new ConfigError(path, located, { cause: error });
  }
}

async function readText(path: string): Promise<string> {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs');
  if (fs === undefined) {
    throw new PhasegateError(
      'file-unreadable',
      `${path} cannot be read: this platform has no files. Fetch the text yourself and give the object to parseConfig`,
    );
  }
  try {
    return await fs.promises.readFile(path, 'utf8');
  } catch (error) {
    throw new PhasegateError('file-unreadable', `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
