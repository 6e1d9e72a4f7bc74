import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PhasegateError } from '../errors.ts';

/** The files of the page, by the path of their address. */
export type PageFiles = ReadonlyMap<string, PageFile>;

interface PageFile {
  readonly type: string;
  readonly content: Uint8Array;
}

const FILES = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
  ['/icon.svg', 'icon.svg', 'image/svg+xml'],
] as const;

/**
 * Reads the page, as the build has left it.
 *
 * @param folder Where it lies.
 * @default that of the package's build
 * @throws {PhasegateError} (rejects) `page-not-built`.
 */
export async function readPage(folder?: string): Promise<PageFiles> {
  try {
    const from = folder ?? builtPage();
    const files = FILES.map(async ([path, name, type]): Promise<[string, PageFile]> => {
      return [path, { type, content: await readFile(join(from, name)) }];
    });
    return new Map(await Promise.all(files));
  } catch (error) {
    throw new PhasegateError(
      'page-not-built',
      `The page cannot be read: ${(error as Error).message}. In a checkout of phasegate, run npm run build`,
      { cause: error },
    );
  }
}

// By the name of the package: this module may lie in any file of the build, or in the source.
function builtPage(): string {
  const manifest = createRequire(import.meta.url).resolve('phasegate/package.json');
  return join(dirname(manifest), 'dist', 'inspect');
}
