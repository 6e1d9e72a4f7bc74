import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../../src/replay/index.ts';
import { JsonSplitter } from '../../../src/replay/json-values.ts';
import { faultsOf, lines } from '../support.ts';
import { recording, recordings } from './recordings.ts';

// Each format that takes the bytes, or one of the values that they hold, for its own.
function claims(bytes: Uint8Array): string[] {
  const splitter = new JsonSplitter();
  const items = [...splitter.push(new TextDecoder().decode(bytes)), ...splitter.end()].slice(0, 2000);
  const values = items.filter(({ fault }) => fault === undefined).map(({ value }) => value);
  return FORMATS.filter(
    (format) =>
      format.detectHead?.(bytes) === true || values.some((value) => format.detect?.(value) === 'yes'),
  ).map(({ name }) => name);
}

const formatOf = (name: string) =>
  [
    [/^ai-sdk/, 'ai-sdk'],
    [/^langchain/, 'langchain'],
    [/^openai/, 'openai-responses'],
    [/^otlp/, 'otel'],
    [/^inspect/, 'inspect'],
  ].find(([pattern]) => (pattern as RegExp).test(name))?.[1];

describe('a recording', () => {
  it.each(recordings)('of a framework is of one format only: %s', (name) => {
    expect(claims(recording(name))).toEqual([formatOf(name)]);
  });

  const traces = fileURLToPath(new URL('../../../../shared/traces', import.meta.url));
  const folders: Record<string, string | undefined> = {
    'agentrx-tau-retail': 'openai',
    'claude-code': 'claude-code',
    'cline-anthropic': 'anthropic',
    'inspect-logs': 'inspect',
    'langfuse-traces': 'langfuse',
    livemcpbench: 'openai',
    openagentsafety: undefined,
    'openclaw-telemetry': 'openclaw',
    'otel-agentevals': 'otel',
    'otel-strands': 'otel',
    'pi-coding-agent': undefined,
    'pydantic-ai-cassettes': 'vcr',
    'swe-agent': undefined,
    'tau-bench-airline': 'openai',
    'tau2-bench': 'tau2-bench',
    toolbench: undefined,
  };

  describe.skipIf(!existsSync(traces))('of another agent, beside the project', () => {
    it.each(Object.entries(folders))('in %s is of one format only, if of any: %s', (folder, format) => {
      const files = (readdirSync(join(traces, folder), { recursive: true }) as string[])
        .filter((name) => !name.endsWith('MANIFEST.json'))
        .map((name) => join(traces, folder, name))
        .filter((path) => statSync(path).isFile());
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) {
        expect(claims(readFileSync(file)), file).toEqual(format === undefined ? [] : [format]);
      }
    });
  });

  it.each([
    ['a line that only names its trace', { trace_id: 'a', span_id: 'b', message: 'started' }],
    ['messages of a log that is no conversation', { history: [{ role: 'user', content: 'x' }] }],
    ['a zip code', { interactions: 3 }],
    ['tests of simulations', { simulations: 'none' }],
    ['samples without anything else', { samples: [] }],
    ['batches of something', { batches: [] }],
    ['data of something', { data: [{ id: 1 }] }],
    ['a thing with a type', { type: 'agent.start', name: 'x' }],
  ])('is not made of %s', async (_, value) => {
    expect(await faultsOf(lines(value))).toEqual([expect.stringContaining('no known format holds')]);
  });
});
