import { describe, expect, test } from 'vitest';
import {
  type Call,
  createEnforcement,
  createSupervisor,
  type Enforcement,
  Refusal,
  type Run,
  type RunOptions,
} from '../../src/index.ts';
import { collectGarbage, flush, gate, macrotask, outcomeOf, refusalOf, watch } from './helpers.ts';

function enforce(maxSteps = 50, maxLoopsPerPhase = 3): Enforcement {
  return createEnforcement({ supervisor: createSupervisor({ maxSteps, maxLoopsPerPhase }) });
}

/** A child run inside a call of the parent, and that call. */
async function beget(enforcement: Enforcement, parent: Run, options: RunOptions = {}) {
  const call = await parent.beforeCall('delegate', {}, { parent: null });
  return { call, child: enforcement.beginRun({ ...options, parent: call }) };
}

describe('SPEC §10.1: a run begun inside the body of a call', () => {
  test('is a child of that call’s run, however the call is known', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    expect(root.parent).toBeNull();
    expect(root.depth).toBe(0);
    const begin: ((ctx: Call) => Run | Promise<Run>)[] = [
      (ctx) => enforcement.beginRun({ parent: ctx }),
      () => enforcement.beginRun(),
      () => enforcement.withRun((run) => run),
      () => flush().then(() => enforcement.beginRun()),
    ];
    for (const make of begin) {
      await root.callTool('delegate', {}, async (ctx) => {
        const child = await make(ctx);
        expect(child.parent).toBe(root);
        expect(child.depth).toBe(1);
      });
    }
  });

  test('is none where `parent: null` is said, nor where it is begun outside of any call', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    await root.callTool('delegate', {}, () => {
      expect(enforcement.beginRun({ parent: null })).toMatchObject({ parent: null, depth: 0 });
    });
    await enforcement.withRun(() => expect(enforcement.beginRun().parent).toBeNull());
  });

  test('has its own phases, counters and table; its calls are not nested calls of the parent', async () => {
    const enforcement = enforce(50, 0);
    const root = enforcement.beginRun();
    await root.callTool('delegate', {}, () =>
      enforcement.withRun(async (child) => {
        for (let i = 0; i < 3; i++) await child.callTool('search', {}, () => i);
        expect(child.state).toMatchObject({ phase: 'OBSERVING', stepCount: 3, loopCount: {} });
        expect(root.state).toMatchObject({ phase: 'ACTING', inFlight: 1, loopCount: {} });
        expect(child.log.map(({ parent }) => parent)).toEqual([null, null, null]);
      }),
    );
    expect(root.state.loopCount).toEqual({});
  });

  test('may be of another enforcement, with a table of its own', async () => {
    const supervisor = createSupervisor({ transitions: [['IDLE', 'ACTING']], maxSteps: 9 });
    const [outer, inner] = [enforce(2), createEnforcement({ supervisor })];
    const root = outer.beginRun();
    await root.callTool('delegate', {}, () =>
      inner.withRun(async (child) => {
        expect(child.parent).toBe(root);
        await child.callTool('search', {}, () => 1);
        expect(child.log).toMatchObject([{ path: ['IDLE', 'ACTING'] }]);
        // The outer budget: one executed here, and the call in which this runs.
        const { message } = await refusalOf(child.callTool('search', {}, () => 2));
        expect(message).toContain('(parent run)');
      }),
    );
  });
});

describe('SPEC §10.2: a tree of agents never makes more calls than its root may', () => {
  test('each call of a child is counted in the step budget of every ancestor', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { call, child } = await beget(enforcement, root);
    const { child: grandchild } = await beget(enforcement, child);
    await grandchild.callTool('search', {}, () => 1);
    expect([root, child, grandchild].map(({ state }) => state.stepCount)).toEqual([1, 1, 1]);
    await outcomeOf(grandchild.callTool('search', {}, () => Promise.reject(new Error('no'))));
    expect([root, child, grandchild].map(({ state }) => state.stepCount)).toEqual([1, 1, 1]);
    root.afterCall(call);
    expect(root.state).toMatchObject({ stepCount: 2, phase: 'OBSERVING' });
  });

  test('it touches no phase of an ancestor, and is not among its calls in flight', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    const before = root.state;
    const inner = await child.beforeCall('search');
    expect(root.state).toEqual(before);
    child.afterCall(inner);
    expect(root.state).toEqual({ ...before, stepCount: 1 });
  });

  test('a refusal says whose budget it was', async () => {
    const enforcement = enforce(2);
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    const { child: grandchild } = await beget(enforcement, child);
    // The call in which the child runs, and the one in which the grandchild runs: both of the root's steps.
    const refusal = await refusalOf(grandchild.callTool('search', {}, () => 1));
    expect(refusal).toMatchObject({ code: 'step-budget', stage: 'dfa', result: null, runId: grandchild.id });
    expect(refusal.message).toMatch(/^Step budget exhausted: 0\/2 \(ancestor run\)/);
  });

  test('of a parent that has executed all: 50/50 (parent run)', async () => {
    const enforcement = enforce(50);
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    for (let i = 0; i < 49; i++) await child.callTool('search', {}, () => i);
    const { message } = await refusalOf(child.callTool('search', {}, () => 49));
    expect(message).toBe('Step budget exhausted: 49/50 (parent run) (1 call in flight)');
    expect(child.validateActionPhase()).toMatchObject({ allowed: false, code: 'step-budget', message });
  });

  test('its own budget is said without more, and comes first', async () => {
    const child = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
    const root = enforce(2).beginRun();
    await root.callTool('delegate', {}, () =>
      child.withRun(async (run) => {
        await run.callTool('search', {}, () => 1);
        expect((await refusalOf(run.callTool('search', {}, () => 2))).message).toBe(
          'Step budget exhausted: 1/1',
        );
      }),
    );
  });

  test('many sub-agents at once share what there is: they cannot multiply it', async () => {
    for (const parallel of ['serialize', 'concurrent'] as const) {
      const supervisor = createSupervisor({ maxSteps: 10, maxLoopsPerPhase: 99 });
      const enforcement = createEnforcement({ supervisor, parallel });
      let bodies = 0;
      const root = enforcement.beginRun();
      const agent = async (run: Run) => {
        for (let i = 0; i < 10; i++) {
          const search = run.callTool('search', {}, async () => {
            bodies += 1;
            await flush();
          });
          await search.catch(() => {});
        }
      };
      const delegate = () => root.callTool('delegate', {}, () => enforcement.withRun(agent));
      await Promise.allSettled([delegate(), delegate(), delegate(), delegate()]);
      // Serialised, the first agent leaves room for no other; side by side, the four share.
      expect(bodies).toBe(parallel === 'serialize' ? 9 : 6);
      expect(root.state).toMatchObject({ stepCount: 10, inFlight: 0, phase: 'OBSERVING' });
    }
  });

  test('reserved at once in every budget: of three children that ask for the last two steps two get one', async () => {
    const enforcement = enforce(3);
    const root = enforcement.beginRun();
    const { call } = await beget(enforcement, root);
    const answers = [1, 2, 3].map(() => enforcement.beginRun({ parent: call }).admit('search'));
    expect(answers.map((answer) => answer instanceof Refusal)).toEqual([false, false, true]);
    expect(answers[2]).toMatchObject({
      message: 'Step budget exhausted: 0/3 (parent run) (3 calls in flight)',
    });
  });

  test('with budget: own it spends its own budget only', async () => {
    const enforcement = enforce(1);
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root, { budget: 'own' });
    await child.callTool('search', {}, () => 1);
    expect(root.state.stepCount).toBe(0);
    expect((await refusalOf(child.callTool('search', {}, () => 1))).message).toBe(
      'Step budget exhausted: 1/1',
    );
  });

  test('a call of a child that ends well after the child has ended is still paid for by the parent', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    const late = await child.beforeCall('search');
    child.finish();
    child.afterCall(late);
    expect(child.state.stepCount).toBe(0);
    expect(root.state.stepCount).toBe(1);
  });

  test('one that fails, or whose check refuses, gives its place back to every ancestor', async () => {
    const enforcement = enforce(2);
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    for (let i = 0; i < 3; i++) {
      await outcomeOf(child.callTool('flaky', {}, () => Promise.reject(new Error('no'))));
    }
    expect(root.state.stepCount).toBe(0);
    expect(await child.callTool('search', {}, () => 'found')).toBe('found');
    expect(root.state.stepCount).toBe(1);
  });
});

describe('SPEC §10.3: how deep runs nest is bounded', () => {
  /** Begins runs inside of each other until one is refused, and says how many there were below the outermost. */
  async function dive(options: RunOptions, below: RunOptions = {}): Promise<number> {
    const enforcement = enforce();
    let run = enforcement.beginRun(options);
    for (;;) {
      const parent = await run.beforeCall('delegate');
      try {
        run = enforcement.beginRun({ ...below, parent });
      } catch (error) {
        expect(error).toMatchObject({
          code: 'depth-exceeded',
          message: expect.stringMatching(/^Runs nest deeper than \d+$/),
        });
        return run.depth;
      }
    }
  }

  test('to five levels below the outermost, unless it says otherwise', async () => {
    expect(await dive({})).toBe(5);
    expect(await dive({ maxDepth: 2 })).toBe(2);
    expect(await dive({ maxDepth: 0 })).toBe(0);
    expect(await dive({ maxDepth: 7 })).toBe(7);
  });

  test('a child cannot raise it', async () => {
    expect(await dive({ maxDepth: 2 }, { maxDepth: 100 })).toBe(2);
    expect(await dive({ maxDepth: 2 }, { maxDepth: Number.POSITIVE_INFINITY })).toBe(2);
  });

  test('a child may lower it', async () => {
    expect(await dive({}, { maxDepth: 3 })).toBe(3);
  });

  test('it is refused when the run is begun, and withRun rejects: no agent starts, and nothing has changed', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun({ maxDepth: 0 });
    let started = false;
    await root.callTool('delegate', {}, async () => {
      const before = root.state;
      const refusal = await refusalOf(
        enforcement.withRun(() => {
          started = true;
        }),
      );
      expect(refusal).toMatchObject({
        code: 'depth-exceeded',
        message: 'Runs nest deeper than 0',
        tool: 'delegate',
        phase: 'ACTING',
      });
      expect(root.state).toEqual(before);
    });
    expect(started).toBe(false);
  });
});

describe('SPEC §10.4: the end of a run ends its children first', () => {
  test('finish: their reason is `parent run ended`', async () => {
    const enforcement = enforce();
    const ended: string[] = [];
    enforcement.on((event) => {
      if (event.type === 'run.ended') ended.push(`${event.run}: ${event.reason}`);
    });
    const root = enforcement.beginRun({ id: 'root' });
    const { child } = await beget(enforcement, root, { id: 'child' });
    await beget(enforcement, child, { id: 'grandchild' });
    root.finish();
    expect(ended).toEqual(['grandchild: parent run ended', 'child: parent run ended', 'root: null']);
    expect(child.state).toMatchObject({ phase: 'ANSWERING', finished: true, reason: 'parent run ended' });
    expect((await refusalOf(child.callTool('search', {}, () => 1))).message).toBe(
      'Cannot call search: agent run is already completed: parent run ended',
    );
  });

  test('abort: the parent’s own reason, which their signals get as well', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    const { child: own } = await beget(enforcement, child, { budget: 'own' });
    const reason = new Error('the user left');
    root.abort(reason);
    for (const run of [root, child, own]) {
      expect(run.state.reason).toBe('the user left');
      expect(run.signal.reason).toBe(reason);
    }
  });

  test('their waiting calls are refused, and their bodies’ late ends change nothing', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { child } = await beget(enforcement, root);
    const hold = gate();
    const running = child.callTool('running', {}, () => hold.passed);
    const waiting = watch(child.callTool('waiting', {}, () => 1));
    root.abort('stop');
    expect(await waiting()).toMatchObject({ error: { code: 'run-completed' } });
    hold.open();
    await running;
    expect([root.state.stepCount, child.state.stepCount]).toEqual([0, 0]);
  });

  test('withRun of a child rejects at once, though its agent goes on', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const agent = watch(
      root.callTool('delegate', {}, () => enforcement.withRun(() => new Promise(() => {}))),
    );
    await flush();
    root.abort('stop');
    expect(await agent()).toMatchObject({ error: { code: 'run-aborted', reason: 'stop' } });
  });

  test('the end of a child ends neither its parent nor its siblings', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const { call, child } = await beget(enforcement, root);
    const sibling = enforcement.beginRun({ parent: call });
    child.abort('stop');
    expect([root.state.finished, sibling.state.finished]).toEqual([false, false]);
    expect(await sibling.callTool('search', {}, () => 'found')).toBe('found');
  });

  test('a run holds on to no child that has ended', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun();
    const parent = await root.beforeCall('delegate');
    const ended = Array.from({ length: 20 }, (_, i) => {
      const child = enforcement.beginRun({ parent });
      if (i % 2 === 0) child.finish();
      else child.abort('stop');
      return new WeakRef(child);
    });
    await macrotask();
    collectGarbage();
    expect(ended.filter((child) => child.deref() !== undefined)).toEqual([]);
    expect(root.state.finished).toBe(false);
  });

  test('a child begun after the end, in a body that still runs, has ended before its agent could start', async () => {
    for (const [end, reason] of [
      [(run: Run) => run.finish(), 'parent run ended'],
      [(run: Run) => run.abort('stop'), 'stop'],
    ] as const) {
      const enforcement = enforce();
      const root = enforcement.beginRun();
      let started = false;
      await root.callTool('delegate', {}, async () => {
        end(root);
        const child = enforcement.beginRun();
        expect(child.state).toMatchObject({ phase: 'ANSWERING', finished: true, reason });
        expect((await refusalOf(child.callTool('search', {}, () => 1))).code).toBe('run-completed');
        const outcome = await outcomeOf(
          enforcement.withRun(() => {
            started = true;
          }),
        );
        expect(outcome).toMatchObject({ error: { code: 'run-aborted', reason } });
      });
      expect(started).toBe(false);
    }
  });

  test('a listener that hears of it never sees a state of the parent that no run may be in', async () => {
    const enforcement = enforce();
    const root = enforcement.beginRun({ id: 'root' });
    await beget(enforcement, root, { id: 'child' });
    const seen: unknown[] = [];
    enforcement.on((event) => {
      if (event.run !== 'child') return;
      try {
        seen.push(enforcement.supervisor.validateActionPhase(root.state).allowed);
      } catch (error) {
        seen.push(error);
      }
    });
    root.finish();
    // The supervisor refuses a state that is none, such as one that has finished in ACTING.
    expect(seen).not.toEqual([]);
    for (const answer of seen) expect(answer).toBeTypeOf('boolean');
  });
});

describe('SPEC §10.4: while a run ends its children one by one', () => {
  test('no body of the others starts any more, whoever hears of the first and uses them', async () => {
    const enforcement = enforce();
    const { call, root } = await twoRuns(enforcement);
    const [first, second] = [1, 2].map(() => enforcement.beginRun({ parent: call })) as [Run, Run];
    let started = 0;
    const outcomes: Promise<unknown>[] = [];
    enforcement.on((event) => {
      if (event.type !== 'run.ended' || event.run !== first.id) return;
      outcomes.push(refusalOf(second.callTool('search', {}, () => ++started)));
    });
    root.abort('enough');
    expect(await Promise.all(outcomes)).toMatchObject([{ code: 'run-completed' }]);
    expect(started).toBe(0);
    expect(second.state).toMatchObject({ finished: true, reason: 'enough' });
  });

  test('and a run without the dfa stage stays within the budget of an ancestor that has it (§10.2)', async () => {
    const parent = enforce(2).beginRun();
    const call = await parent.beforeCall('delegate');
    const child = createEnforcement({ enabledChecks: [], parallel: 'concurrent' }).beginRun({ parent: call });
    const [first, second] = [1, 2].map(() => child.admit('search', {}, { parent: null }));
    expect(first).not.toBeInstanceOf(Refusal);
    expect(second).toMatchObject({ code: 'step-budget', message: expect.stringContaining('(parent run)') });
  });
});

async function twoRuns(enforcement: Enforcement) {
  const root = enforcement.beginRun();
  return { root, call: await root.beforeCall('delegate') };
}
