import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRepository } from '../../examples/repository.mjs';

let outside: string;
let repository: ReturnType<typeof openRepository>;

beforeAll(() => {
  outside = realpathSync(mkdtempSync(join(tmpdir(), 'phasegate-files-')));
  const root = join(outside, 'repository');
  for (const folder of ['src/deep', '.git', 'node_modules/x', 'dist'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  writeFileSync(join(outside, 'repository-secret.txt'), 'secret');
  for (const file of [
    'README.md',
    'src/a.ts',
    'src/deep/b.ts',
    '.git/config',
    '.env',
    'node_modules/x/index.js',
    'dist/i.js',
  ]) {
    writeFileSync(join(root, file), `text of ${file}`);
  }
  writeFileSync(join(root, 'large.txt'), 'x'.repeat(1_000_001));
  symlinkSync(join(outside, 'secret.txt'), join(root, 'src', 'link-out.txt'));
  symlinkSync(outside, join(root, 'src', 'folder-out'));
  symlinkSync(join(root, '.env'), join(root, 'src', 'link-hidden.txt'));
  symlinkSync(join(root, 'src', 'a.ts'), join(root, 'link-in.ts'));
  symlinkSync(join(root, 'src'), join(root, 'src', 'loop'));
  // The root itself may be reached by a link.
  symlinkSync(root, join(outside, 'link-to-root'));
  repository = openRepository(join(outside, 'link-to-root'));
});

afterAll(() => rmSync(outside, { recursive: true, force: true }));

describe('the files that the example may see', () => {
  it('reads files inside of the root, by links that stay inside too', async () => {
    expect(await repository.read('src/deep/b.ts')).toBe('text of src/deep/b.ts');
    expect(await repository.read('./src/../README.md')).toBe('text of README.md');
    expect(await repository.read('link-in.ts')).toBe('text of src/a.ts');
  });

  it.each([
    '../secret.txt',
    'src/../../secret.txt',
    '../repository-secret.txt',
    '/etc/passwd',
    'src/link-out.txt',
    'src/folder-out/secret.txt',
    'src/link-hidden.txt',
    '.env',
    '.git/config',
    'node_modules/x/index.js',
    'dist/i.js',
  ])('does not read %s', async (path) => {
    await expect(repository.read(path)).rejects.toThrow(`${path} is not among the files of the repository`);
    await expect(repository.list(path)).rejects.toThrow(`${path} is not among the files of the repository`);
  });

  it('does not read the secret by its whole path, and names no path of the machine', async () => {
    const error: Error = await repository.read(join(outside, 'secret.txt')).catch((thrown) => thrown);
    expect(error.message).toContain('is not among the files of the repository');
    const missing: Error = await repository.read('src/none.ts').catch((thrown) => thrown);
    expect(missing.message).toBe('There is no file src/none.ts');
  });

  it('says what cannot be read as a text', async () => {
    await expect(repository.read('src')).rejects.toThrow('src is no file');
    await expect(repository.read('large.txt')).rejects.toThrow(
      'large.txt has 1000001 bytes; at most 1000000 are read',
    );
    await expect(repository.read('src/a.ts\0.txt')).rejects.toThrow('There is no file');
  });

  it('lists files in order, without hidden ones and without following links', async () => {
    expect(await repository.list('.')).toEqual(['README.md', 'large.txt', 'src/a.ts', 'src/deep/b.ts']);
    expect(await repository.list('src/deep')).toEqual(['src/deep/b.ts']);
    expect(await repository.list('README.md')).toEqual(['README.md']);
  });
});
