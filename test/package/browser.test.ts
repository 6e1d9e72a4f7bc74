import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, inject, test } from 'vitest';

const consumer = inject('consumer');

/** What a bundler makes of the core for a browser, with nothing left out and nothing put in for Node. */
function bundle() {
  return build({
    stdin: { contents: `export * from 'phasegate';`, resolveDir: consumer },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'phasegate',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
}

test('the core is bundled for a browser without a warning and without a module of Node', async () => {
  const { warnings, metafile } = await bundle();
  expect(warnings).toEqual([]);
  const outputs = Object.values(metafile.outputs);
  expect(outputs.flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual([]);
  const foreign = Object.keys(metafile.inputs).filter((path) => !/phasegate\/|xstate\/|^<stdin>$/.test(path));
  expect(foreign).toEqual([]);
});

test('the bundle supervises a run where there is no process', async () => {
  const { outputFiles } = await bundle();
  const browser = createContext({ AbortController, AbortSignal, clearTimeout, console, setTimeout });
  runInContext(outputFiles[0]?.text ?? '', browser);
  const answers: unknown = await runInContext(
    `(async () => {
      const run = phasegate.createEnforcement({ supervisor: phasegate.createSupervisor({ maxSteps: 1 }) }).beginRun();
      return [
        typeof process,
        await run.callTool('length', 'xstate', () => 6),
        await run.callTool('length', 'xstate', () => 6).catch((error) => error.message),
      ].join();
    })()`,
    browser,
  );
  expect(answers).toBe('undefined,6,Step budget exhausted: 1/1');
});
