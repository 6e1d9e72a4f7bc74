import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const DIAGRAM = new URL('../../src/diagram/index.ts', import.meta.url).pathname;
const INDEX = new URL('../../src/index.ts', import.meta.url).pathname;

// All that the package needs is bundled but elkjs, and there is none where the bundle is run.
test.each(['esm', 'cjs'] as const)(
  'without elkjs, as %s, an SVG says what to install, and Mermaid is drawn',
  async (format) => {
    const folder = mkdtempSync(join(tmpdir(), 'phasegate-diagram-'));
    const outfile = join(folder, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs');
    await build({
      stdin: {
        contents: `
          import { createSupervisor } from ${JSON.stringify(INDEX)};
          import { toMermaid, toSvg } from ${JSON.stringify(DIAGRAM)};
          const supervisor = createSupervisor();
          toSvg(supervisor).then(
            () => console.log('drawn'),
            ({ code, message }) => console.log(JSON.stringify({ code, message, mermaid: toMermaid(supervisor) })),
          );`,
        resolveDir: folder,
      },
      outfile,
      format,
      bundle: true,
      platform: 'node',
      external: ['elkjs'],
      logLevel: 'silent',
    });
    writeFileSync(join(folder, 'package.json'), '{}');

    const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: folder });

    expect(JSON.parse(stdout)).toEqual({
      code: 'missing-dependency',
      message:
        'An SVG is laid out by elkjs, an optional dependency that is not installed. Install it with: npm install elkjs',
      mermaid: expect.stringMatching(/^stateDiagram-v2\n/),
    });
  },
  60_000,
);
