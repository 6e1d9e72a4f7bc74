import { describe, expect, test } from 'vitest';
import { run } from '../cli/support.ts';

const EXAMPLES = new URL('../../examples/machines/', import.meta.url);
const DIAGRAMS = new URL('../../docs/diagrams/', import.meta.url);

// `npm run diagrams` makes them anew.
describe('docs/diagrams', { timeout: 60_000 }, () => {
  test.each([
    ['default.svg', []],
    ['review.svg', ['review.yaml']],
    ['strict.svg', ['strict.yaml']],
  ] as const)('%s is what the command makes now', async (file, configs) => {
    const paths = configs.map((config) => new URL(config, EXAMPLES).pathname);

    const { code, out, err } = await run(['diagram', ...paths, '--format', 'svg']);

    expect({ code, err }).toEqual({ code: 0, err: '' });
    await expect(out).toMatchFileSnapshot(new URL(file, DIAGRAMS).pathname);
  });
});
