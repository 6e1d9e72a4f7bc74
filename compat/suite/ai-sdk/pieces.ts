import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate as handle, read, settled, times, turns } from '../world.ts';
import type { Tools } from './harness.ts';
import type { Version } from './model.ts';
import { Stage } from './stage.ts';

/** Bodies that give their result in pieces: the call ends with the last one. */
export function describePieces(version: Version): void {
  const { ai } = version;
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage(version);
  });

  describe('a body that gives its result in pieces', () => {
    afterEach(() => stage.world.expectSound());

    let endedAtTheLast: number;

    async function* pieces() {
      yield 'one';
      await settled();
      yield 'two';
      endedAtTheLast = stage.world.of('call.ended').length;
    }

    const results = (parts: unknown[]) =>
      (parts as { type: string; output?: unknown; preliminary?: boolean }[])
        .filter(({ type }) => type === 'tool-result')
        .map(({ output, preliminary }) => `${output}${preliminary ? ' …' : ''}`);

    it.each([
      ['a generator', pieces],
      ['a function that returns an iterable', () => pieces()],
    ])('as %s, is in flight until the last piece', async (_, body) => {
      const result = stage.stream(turns(times(1, 'search')), body);
      expect(results(await read(result.fullStream))).toEqual(['one …', 'two …', 'two']);
      expect(endedAtTheLast).toBe(0);
      expect(stage.world.of('call.ended')).toMatchObject([{ ok: true }]);
    });

    it('waits its turn as others do', async () => {
      async function* generated() {
        yield* pieces();
      }
      const result = stage.stream(turns(times(2, 'search')), generated);
      const one = ['one …', 'two', 'two …'];
      expect(results(await read(result.fullStream)).sort()).toEqual([...one, ...one].sort());
      expect(stage.world.of('call.waiting')).toHaveLength(1);
    });

    it('that was not known to do so, and has waited, gives the last piece', async () => {
      const result = stage.stream(turns(times(2, 'search')), () => pieces());
      expect(results(await read(result.fullStream))).toContain('two');
      expect(await result.text).toBe('done');
      expect(stage.world.of('call.ended')).toHaveLength(2);
    });

    it('makes nested calls from inside', async () => {
      const gate = stage.gate();
      const tools: Tools = gate.tools({
        inner: stage.tool(() => 'inner'),
        outer: stage.tool(async function* (input, options) {
          yield 'first';
          yield await tools['inner']?.execute(input, options);
        }),
      });
      const settings = { ...stage.settings(turns(times(1, 'outer')), pieces), tools };
      await gate.agent(ai.generateText)(settings);
      expect(stage.world.of('call.started')).toMatchObject([
        { tool: 'outer' },
        { tool: 'inner', parent: 'asked-1' },
      ]);
    });

    it('that throws between pieces has failed', async () => {
      const result = stage.stream(turns(times(1, 'search')), async function* () {
        yield 'one';
        throw new Error('The index is gone');
      });
      const parts = (await read(result.fullStream)) as { type: string; error?: unknown }[];
      expect(parts.find(({ type }) => type === 'tool-error')?.error).toMatchObject({
        message: 'The index is gone',
      });
      expect(stage.world.of('call.ended')).toMatchObject([{ ok: false }]);
    });

    it('is told of the end of its run, and cleans up', async () => {
      const cleaned = handle();
      const controller = new AbortController();
      const settings = stage.settings(turns(times(1, 'search')), async function* () {
        try {
          yield 'one';
          controller.abort(new Error('Enough'));
          yield 'two';
        } finally {
          cleaned.open();
        }
      });
      await read(
        stage.gate().agent(ai.streamText)({ ...settings, abortSignal: controller.signal }).fullStream,
      );
      await cleaned.passed;
    });
  });
}
