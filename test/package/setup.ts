import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureBuilt } from '../../scripts/ensure-built.mjs';

declare module 'vitest' {
  interface ProvidedContext {
    /** A project outside of the repository that has the packed package installed. */
    readonly consumer: string;
  }
}

/** Packs the package as it would be published, and installs it into a project of its own. */
export default async function setup(project: TestProject): Promise<() => void> {
  await ensureBuilt();
  const consumer = mkdtempSync(join(tmpdir(), 'phasegate-consumer-'));
  const modules = join(consumer, 'node_modules');
  mkdirSync(modules);
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', consumer], {
    encoding: 'utf8',
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  execFileSync('tar', ['-xzf', filename], { cwd: consumer });
  renameSync(join(consumer, 'package'), join(modules, 'phasegate'));
  // Its dependencies, and the peers that entries import, as installed here: the registry need not be there for the tests.
  for (const name of ['xstate', '@xstate', '@types', '@langchain', '@opentelemetry']) {
    symlinkSync(resolve('node_modules', name), join(modules, name), 'junction');
  }
  project.provide('consumer', consumer);
  return () => rmSync(consumer, { recursive: true, force: true });
}
