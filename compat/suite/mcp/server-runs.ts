import type { SupervisorOptions } from 'phasegate';
import type { GateOptions } from 'phasegate/mcp';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { gate, settled } from '../world.ts';
import { Stage } from './stage.ts';
import { type Result, signalOf, textOf, type Version } from './version.ts';

const NEVER = new Promise<never>(() => {});

/** Which calls of a server's clients are of one run, and when that ends. */
export function describeServerRuns(version: Version): void {
  describe('gate.server: runs', () => {
    let stage: Stage;
    const inStage = (rules: SupervisorOptions = {}, options: GateOptions = {}): Stage => {
      stage = new Stage(version, rules, options);
      return stage;
    };
    const found = { search: () => 'found' };
    const refusedWith = (answer: Result): string => (answer.isError ? textOf(answer) : 'not refused');

    afterEach(() => stage.close());

    describe('of sessions', () => {
      it('have a budget each', async () => {
        inStage({ maxSteps: 1 });
        const [one, other] = [await stage.open(found), await stage.open(found)];
        await Promise.all([one.call('search'), other.call('search')]);
        expect(stage.world.started).toHaveLength(2);
        expect(refusedWith(await one.call('search'))).toContain('Step budget exhausted: 1/1');
        expect(refusedWith(await other.call('search'))).toContain('Step budget exhausted: 1/1');
      });

      it('begin with the first call, and end when the session is closed', async () => {
        const session = await inStage().open(found);
        expect(stage.world.events).toEqual([]);
        await session.call('search');
        expect(stage.world.ended).toEqual([]);
        await session.close();
        await vi.waitFor(() =>
          expect(stage.world.ended).toMatchObject([{ phase: 'ANSWERING', reason: null, stepCount: 1 }]),
        );
      });

      it('end with it while a body runs, which is told to stop, and no other starts', async () => {
        const running = gate();
        const stopped = gate();
        const session = await inStage().open({
          search: (_, extra) => {
            signalOf(extra)?.addEventListener('abort', () => stopped.open());
            running.open();
            return NEVER;
          },
        });
        const calls = [session.call('search'), session.call('search')].map((call) =>
          call.catch(() => undefined),
        );
        await running.passed;
        await session.close();
        await stopped.passed;
        await Promise.all(calls);
        await settled();
        expect(stage.world.started).toEqual(['search']);
        expect(stage.world.ended).toMatchObject([{ reason: 'the session was closed' }]);
      });

      it('end after a while without a call, and the next call begins another', async () => {
        const session = await inStage({ maxSteps: 2 }, { idleMs: 30 }).open({
          ...found,
          // Longer than that: a session with a body at work is not idle.
          wait: () => new Promise((resolve) => setTimeout(resolve, 90)),
        });
        for (const tool of ['search', 'wait'])
          expect(await session.call(tool)).not.toMatchObject({ isError: true });
        await vi.waitFor(() => expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]));
        expect(stage.world.of('call.ended').map(({ late }) => late)).toEqual([false, false]);
        expect(await session.call('search')).not.toMatchObject({ isError: true });
        expect(stage.world.of('run.started')).toHaveLength(2);
        await vi.waitFor(() => expect(stage.world.ended).toHaveLength(2));
      });

      it('are children of no run of a client in the same process', async () => {
        const session = await inStage().open(found);
        const client = stage.gate.client(session.client, { sendRunId: true });
        const plain = stage.gate.client(session.client);
        for (const used of [client, plain, client]) {
          const answer = await stage.gate.run(() => used.callTool({ name: 'search', arguments: {} }));
          expect(answer).not.toMatchObject({ isError: true });
        }
        const parents = stage.world.of('run.started').map(({ parent }) => parent);
        expect(parents).toEqual(parents.map(() => null));
        // Three of the client, two that it named, and that of the session.
        expect(parents).toHaveLength(6);
      });
    });

    describe('that a client names', () => {
      it('are runs of their own, in each session', async () => {
        inStage({ maxSteps: 1 });
        const [one, other] = [await stage.open(found), await stage.open(found)];
        for (const [session, run] of [
          [one, 'a'],
          [one, 'b'],
          [one, undefined],
          [other, 'a'],
        ] as const) {
          const call = () => (run === undefined ? session.call('search') : session.callIn(run));
          expect(await call()).not.toMatchObject({ isError: true });
          expect(refusedWith(await call())).toContain('Step budget exhausted: 1/1');
        }
        expect(stage.world.of('run.started').map(({ run }) => run.replace(/@\d+$/, '@'))).toEqual([
          'a@',
          'b@',
          expect.stringMatching(/^run-/),
          'a@',
        ]);
        await one.close();
        await vi.waitFor(() => expect(stage.world.ended).toHaveLength(3));
      });

      it.each([[''], ['x'.repeat(129)], ['a b'], ['a\nb'], ['ä'], [7], [null], [{}], [['a']]])(
        'cannot be named %j',
        async (id) => {
          const session = await inStage().open(found);
          expect(refusedWith(await session.callIn(id))).toContain(
            'no agent run is active: the run id in _meta',
          );
          expect(stage.world.started).toEqual([]);
          expect(stage.world.of('call.refused')).toMatchObject([{ code: 'no-active-run', run: null }]);
        },
      );

      it('can be named as members of objects are', async () => {
        const session = await inStage({ maxSteps: 1 }).open(found);
        for (const id of ['__proto__', 'constructor', 'null']) {
          expect(await session.callIn(id)).not.toMatchObject({ isError: true });
          expect(await session.callIn(id)).toMatchObject({ isError: true });
        }
      });

      it('are none where the server does not look', async () => {
        const session = await inStage({ maxSteps: 1 }, { runFrom: 'session' }).open(found);
        expect(await session.callIn('a')).not.toMatchObject({ isError: true });
        expect(refusedWith(await session.callIn('b'))).toContain('Step budget exhausted: 1/1');
        // Not even to refuse it.
        expect(refusedWith(await session.callIn(7))).toContain('Step budget exhausted: 1/1');
      });

      it('are those that a function makes of them', async () => {
        const runFrom: GateOptions['runFrom'] = ({ runId, tool }) => {
          if (runId === 'fault') throw new Error('a secret');
          return runId?.startsWith('team-') ? `${tool}-of-a-team` : undefined;
        };
        inStage({ maxSteps: 1 }, { runFrom, idleMs: 200 });
        const [one, other] = [await stage.open(found), await stage.open(found)];
        expect(await one.callIn('team-1')).not.toMatchObject({ isError: true });
        expect(refusedWith(await other.callIn('team-2'))).toContain('Step budget exhausted: 1/1');
        for (const id of ['mine', 'fault']) {
          expect(refusedWith(await one.callIn(id))).toBe(
            'Cannot call search: no agent run is active: the server knows no run for it. ' +
              'Tools of this kind run only inside a supervised run. Answer without them.',
          );
        }
        // Such a run is over when it was idle for long enough, and not with a session.
        await one.close();
        await settled();
        expect(stage.world.ended).toEqual([]);
        expect(refusedWith(await other.callIn('team-3'))).toContain('Step budget exhausted: 1/1');
        expect(stage.world.started).toEqual(['search']);
      });

      it('are so many at once: the one ends that was idle for longest, and none that is busy', async () => {
        const running = gate();
        const finish = gate();
        const session = await inStage({}, { maxRuns: 2 }).open({
          ...found,
          wait: () => {
            running.open();
            return finish.passed;
          },
        });
        const ended = () => stage.world.ended.map(({ run }) => run.replace(/@\d+$/, ''));
        const busy = session.callIn('busy', 'wait');
        await running.passed;
        await session.callIn('a');
        await session.callIn('b');
        expect(ended()).toEqual(['a']);
        await session.callIn('c');
        expect(ended()).toEqual(['a', 'b']);
        const waiting = session.callIn('c', 'wait');
        await vi.waitFor(() => expect(stage.world.started).toHaveLength(5));
        expect(refusedWith(await session.callIn('d'))).toContain('2 runs are busy');
        expect(ended()).toEqual(['a', 'b']);
        finish.open();
        await Promise.all([busy, waiting]);
        expect(await session.callIn('d')).not.toMatchObject({ isError: true });
      });
    });

    describe('end before their session', () => {
      it('by a refusal, if it is to abort: what runs is stopped, and all later calls are refused', async () => {
        const running = gate();
        const stopped = gate();
        inStage({ maxSteps: 1, maxLoopsPerPhase: 0 }, { onBlocked: 'abort', idleMs: 200 });
        const server = stage.server({});
        const inner = stage.register(server, 'inner', () => 'inner');
        stage.register(server, 'outer', async (args, extra) => {
          signalOf(extra)?.addEventListener('abort', () => stopped.open());
          running.open();
          await inner.handler(args, extra);
          return await NEVER;
        });
        const session = await stage.connect(server);
        const blocked = await session.call('outer');
        expect(refusedWith(blocked)).toContain(
          'Step budget exhausted: 0/1 (1 call in flight). All tool calls',
        );
        await stopped.passed;
        expect(stage.world.ended).toMatchObject([
          { reason: expect.stringContaining('Step budget exhausted') },
        ]);
        expect(refusedWith(await session.call('inner'))).toContain(
          'Cannot call inner: agent run is already completed: Step budget exhausted',
        );
        expect(stage.world.started).toEqual(['outer']);
        // After a while without a call the session may begin anew.
        await vi.waitFor(async () => {
          await new Promise((resolve) => setTimeout(resolve, 250));
          expect(await session.call('inner')).not.toMatchObject({ isError: true });
        });
        await vi.waitFor(() => expect(stage.world.ended).toHaveLength(2));
      });

      it('by too many refusals in a row', async () => {
        const session = await inStage({ maxSteps: 0 }, { maxBlocked: 2 }).open(found);
        const answers: string[] = [];
        for (let n = 0; n < 4; n += 1) answers.push(refusedWith(await session.call('search')));
        expect(answers.map((text) => text.split('.')[0])).toEqual([
          'Step budget exhausted: 0/0',
          'Step budget exhausted: 0/0',
          'Step budget exhausted: 0/0',
          'Cannot call search: agent run is already completed: Step budget exhausted: 0/0',
        ]);
        expect(stage.world.ended).toHaveLength(1);
      });

      it('but not by those of calls at once, of which nobody has read any', async () => {
        const session = await inStage({ maxSteps: 0 }, { maxBlocked: 1 }).open(found);
        await Promise.all(Array.from({ length: 12 }, () => session.call('search')));
        expect(stage.world.ended).toEqual([]);
        await session.call('search');
        expect(stage.world.ended).toHaveLength(1);
      });

      it('at the deadline, whatever the body does', async () => {
        const session = await inStage({}, { timeoutMs: 50 }).open({ ...found, wait: () => NEVER });
        expect(refusedWith(await session.call('wait'))).toContain('timeout after 50 ms');
        expect(refusedWith(await session.call('search'))).toContain('already completed: timeout after 50 ms');
        expect(stage.world.started).toEqual(['wait']);
      });

      it('by the policy', async () => {
        const session = await inStage({ maxSteps: 0, onBudgetExhausted: 'terminate' }).open(found);
        expect(refusedWith(await session.call('search'))).toContain('Step budget exhausted: 0/0');
        expect(stage.world.ended).toMatchObject([{ phase: 'EXHAUSTED' }]);
        expect(refusedWith(await session.call('search'))).toContain('already completed');
      });
    });
  });
}
