import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { TraceEvent, TraceFormat } from '../../../src/replay/index.ts';
import { FORMATS } from '../../../src/replay/index.ts';
import { readEvents } from '../../../src/replay/read-events.ts';
import { Recording } from '../../../src/replay/recording.ts';
import { stream } from '../support.ts';
import { zipOf } from '../zip.ts';
import { recording, recordings } from './recordings.ts';
import { small } from './small-recordings.ts';

const text = (name: string) => new TextDecoder().decode(recording(name));
const kept = (start: string) =>
  recordings.filter((name) => name.startsWith(start)).map((name) => documentsIn(text(name)));
const inspectLog = small['inspect']?.[0] as { readonly samples: readonly object[] };

// What each format is fed: documents, of which each is a line.
const documents: Record<string, readonly (readonly unknown[])[]> = {
  ...Object.fromEntries(Object.entries(small).map(([name, values]) => [name, [values]])),
  'ai-sdk': kept('ai-sdk'),
  'openai-responses': kept('openai'),
  langchain: kept('langchain'),
  otel: [...kept('otlp'), small['otel'] ?? []],
};

function documentsIn(content: string): unknown[] {
  try {
    return [JSON.parse(content)];
  } catch {
    return content
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  }
}

// Written into the text, as no generator makes such a thing.
const DEEP = '@deep';
const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    '',
    '\u0000',
    [],
    {},
    [[]],
    [null],
    DEEP,
    'x'.repeat(5000),
  ),
  fc.constantFrom<unknown>({ ['__proto__']: { role: 'tool' } }, { constructor: 1 }, '__proto__'),
  fc.jsonValue({ maxDepth: 2 }),
);

type Change = readonly [where: number, how: 'replace' | 'remove' | 'repeat' | 'proto', by: unknown];
const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.tuple(
    fc.nat(),
    fc.constantFrom('replace' as const, 'remove' as const, 'repeat' as const, 'proto' as const),
    junk,
  ),
  { minLength: 1, maxLength: 6 },
);

// Every place in a value, as what holds it and under which key.
function placesIn(value: unknown): [holder: Record<string, unknown>, key: string][] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    [holder, key] as [typeof holder, string],
    ...placesIn(holder[key]),
  ]);
}

function changed(values: readonly unknown[], done: readonly Change[]): unknown[] {
  const copy = plainCopy(values) as unknown[];
  for (const [where, how, by] of done) {
    const places = placesIn(copy);
    const [holder, key] = places[where % Math.max(1, places.length)] ?? [copy as never, '0'];
    if (how === 'remove') delete holder[key];
    else if (how === 'repeat' && Array.isArray(holder)) holder.push(...(plainCopy(holder) as unknown[]));
    else set(holder, how === 'proto' ? '__proto__' : key, plainCopy(by));
  }
  return copy;
}

function plainCopy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

// A field of any name, as JSON has it.
function set(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

const asText = (values: readonly unknown[]) =>
  values
    .map((value) => `${JSON.stringify(value)}\n`)
    .join('')
    .replaceAll(`"${DEEP}"`, deep);

// The events that the format tells, and what it threw that is no fault it knows of.
async function read(format: TraceFormat, content: string | Uint8Array): Promise<TraceEvent[]> {
  const thrown: unknown[] = [];
  const watched: TraceFormat = {
    ...format,
    async *read(source) {
      try {
        yield* format.read(source);
      } catch (error) {
        thrown.push(error);
        throw error;
      }
    },
  };
  const events: TraceEvent[] = [];
  for await (const batch of readEvents(stream(content), watched)) events.push(...batch);
  // A zip without an index, or too large, is refused as a whole.
  expect(thrown.filter((error) => (error as { code?: string }).code !== 'file-unreadable')).toEqual([]);
  return events;
}

// Events that make no sense would be told as faults by what follows them.
function expectSense(events: readonly TraceEvent[], size: number): void {
  const senseless: string[] = [];
  const recorded = new Recording(
    (message) => senseless.push(message),
    () => undefined,
  );
  for (const event of events) if (event.type !== 'fault') recorded.action(event);
  expect(senseless).toEqual([]);
  expect(events.length).toBeLessThan(size + 10);
  expect(({} as { role?: unknown }).role).toBeUndefined();
}

describe('a recording with anything in it', () => {
  const cases = FORMATS.flatMap((format) =>
    (documents[format.name] ?? []).map((values, index) => [format.name, index, format, values] as const),
  );

  it('is there for each format', () => {
    expect([...new Set(cases.map(([name]) => name))]).toEqual(FORMATS.map(({ name }) => name));
  });

  it.each(cases)('is read to its end, and only told of: %s %i', async (_, __, format, values) => {
    // Unchanged it is read without a fault.
    expect((await read(format, asText(values))).filter(({ type }) => type === 'fault')).toEqual([]);
    await fc.assert(
      fc.asyncProperty(changes, async (done) => {
        const content = asText(changed(values, done));
        expectSense(await read(format, content), content.length);
      }),
      { numRuns: 40 },
    );
  });

  it.each(cases)('may be cut short anywhere: %s %i', async (_, __, format, values) => {
    const content = asText(values);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: content.length }), async (length) => {
        expectSense(await read(format, content.slice(0, length)), length);
      }),
      { numRuns: 10 },
    );
  });

  it.each(FORMATS)('may be nested deeper than a stack reaches: $name', async (format) => {
    const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const content = `{"messages":${nested},"items":${nested},"spans":${nested},"interactions":[{"request":${nested}}]}\n${nested}\n`;
    expectSense(await read(format, content), content.length);
    if (format.name !== 'vcr') return;
    const yaml = `interactions:\n- request: ${nested}\n`;
    expect((await read(format, yaml)).map(({ type }) => type)).toContain('fault');
  });

  it('finds its format, whatever it is, without an exception', () => {
    fc.assert(
      fc.property(fc.constantFrom(...cases), changes, ([, , , values], done) => {
        for (const value of JSON.parse(`[${asText(changed(values, done)).trim().replaceAll('\n', ',')}]`)) {
          for (const format of FORMATS)
            expect(['yes', 'maybe', 'no']).toContain(format.detect?.(value) ?? 'no');
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('bytes with anything in them', () => {
  const format = (name: string) => FORMATS.find((one) => one.name === name) as TraceFormat;
  const zipped = zipOf(
    ...inspectLog.samples.map((sample, index) => ({
      name: `samples/${index}.json`,
      text: JSON.stringify(sample),
    })),
  );
  const cassette = new TextEncoder().encode(stringify(small['vcr']?.[0]));

  it.each([
    ['a zip', format('inspect'), zipped],
    ['a zip of Zstandard', format('inspect'), recording('inspect-zstandard.eval')],
    ['YAML', format('vcr'), cassette],
  ])('are read to their end, and only told of: %s', async (_, format, bytes) => {
    expect((await read(format, bytes)).filter(({ type }) => type === 'fault')).toEqual([]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          maxLength: 8,
        }),
        fc.nat({ max: bytes.length }),
        async (writes, end) => {
          const copy = Uint8Array.from(bytes);
          for (const [at, byte] of writes) copy[at] = byte;
          // Mostly the bytes are all there: what is cut short is refused soon.
          const content = end % 4 === 0 ? copy.subarray(0, end) : copy;
          expectSense(await read(format, content), 10 * bytes.length);
        },
      ),
      { numRuns: 150 },
    );
  });
});
