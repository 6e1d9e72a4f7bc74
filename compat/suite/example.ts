/** The agents of examples, run where their framework is installed. */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runNode } from '../../test/docs/node.ts';

/**
 * Runs an example with its scripted model.
 *
 * @param name The folder, as in `examples/ai-sdk`.
 * @param lines What it prints, each a text that a line has to be, or a pattern that it has to match.
 */
export function describeExample(name: string, lines: readonly (string | RegExp)[]): void {
  describe(name, () => {
    it('runs, and prints what it says of itself', { timeout: 60_000 }, async () => {
      // Inside of the framework's folder, so that its packages are found.
      const folder = resolve('.snippets', 'example');
      mkdirSync(folder, { recursive: true });
      try {
        copyFileSync(join(import.meta.dirname, '..', '..', name, 'agent.mjs'), join(folder, 'agent.mjs'));
        const { code, stdout, stderr } = await runNode(['agent.mjs'], folder);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        const printed = stdout.trimEnd().split('\n');
        expect(printed).toEqual(
          lines.map((line) => (line instanceof RegExp ? expect.stringMatching(line) : line)),
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}
