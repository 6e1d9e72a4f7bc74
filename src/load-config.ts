import type { Document } from 'yaml';
import { type Config, ConfigError, type ConfigFault, parseConfig } from './config.ts';
import { invalidArgument, PhasegateError } from './errors.ts';
import { findJsonFault } from './json-fault.ts';

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
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number | undefined) => {
    if (offset === undefined) return {};
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const broken = brokenPlaces(yaml, document);
  if (broken.length > 0) {
    const fault = /\.json$/i.test(path) ? findJsonFault(text) : undefined;
    throw new ConfigError(
      path,
      (fault === undefined ? broken : [fault]).map(({ offset, message }) => ({
        path: [],
        message,
        ...place(offset),
      })),
    );
  }
  const value = asPlainValue(document, path, place);
  try {
    return parseConfig(value, path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const located = error.faults.map((fault): ConfigFault => {
      const at = fault.isKey === true ? keyAt(yaml, document, fault.path) : document.getIn(fault.path, true);
      return { ...fault, ...place(yaml.isNode(at) ? at.range?.[0] : undefined) };
    });
    throw new ConfigError(path, located, { cause: error });
  }
}

/** Where the text is no YAML, or refers to what is not there. */
function brokenPlaces(yaml: typeof import('yaml'), document: Document) {
  const broken = document.errors.map(({ code, message, pos: [offset] }) => ({
    offset: offset as number | undefined,
    message: code === 'DUPLICATE_KEY' ? 'this key is there twice; keep one' : message,
  }));
  if (broken.length > 0) return broken;
  yaml.visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return;
      broken.push({ offset: alias.range?.[0], message: `there is no &${alias.source} to refer to` });
    },
  });
  return broken;
}

function keyAt(yaml: typeof import('yaml'), document: Document, path: ConfigFault['path']): unknown {
  const map = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!yaml.isMap(map)) return undefined;
  return map.items.find(({ key }) => yaml.isScalar(key) && String(key.value) === path.at(-1))?.key;
}

// Aliases of aliases may stand for more than the memory holds: the library refuses that.
function asPlainValue(
  document: Document,
  path: string,
  place: (offset: number | undefined) => Partial<ConfigFault>,
): unknown {
  try {
    return document.toJS() ?? {};
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError(path, [{ path: [], message, ...place(0) }], { cause: error });
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
    throw new PhasegateError(
      'file-unreadable',
      `${path} cannot be read: ${unreadableBecause(error as NodeJS.ErrnoException)}`,
      { cause: error },
    );
  }
}

/** Why a file that was named cannot be read, and what to do. */
export function unreadableBecause(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'there is no such file. Mind its name; a relative path counts from the folder in which the program was started';
    case 'EISDIR':
      return 'it is a directory. Name the file in it';
    case 'EACCES':
      return 'its permissions do not allow it. Change them, or name another file';
    default:
      return error.message;
  }
}
