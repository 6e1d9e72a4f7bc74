import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type EnforcementOptions,
  type Observer,
  type PhasegateEvent,
  type Scope,
} from '../../src/index.ts';
import { refusalOf } from './helpers.ts';

/** An enforcement with an observer, and what a plain listener hears beside it. */
function observed(observer: Observer, options: EnforcementOptions = {}) {
  const enforcement = createEnforcement(options);
  const heard: PhasegateEvent[] = [];
  enforcement.on((event) => heard.push(event));
  enforcement.on(observer);
  return { enforcement, heard, types: () => heard.splice(0).map(({ type }) => type) };
}

/** Throws at the start of a call for as long as the disk is full. */
function recorder() {
  const told: string[] = [];
  const disk = { full: false };
  const observer: Observer = {
    required: true,
    listen(event) {
      if (disk.full) throw new Error('the disk is full');
      told.push(event.type);
    },
  };
  return { observer, told, disk };
}

describe('An observer that calls depend on', () => {
  test('refuses a call of whose start it cannot take note, and nothing has changed', async () => {
    const { observer, disk } = recorder();
    const { enforcement, types } = observed(observer);
    const run = enforcement.beginRun();
    const before = run.state;
    disk.full = true;
    let started = false;
    const refusal = await refusalOf(
      run.callTool('search', {}, () => {
        started = true;
      }),
    );
    expect(refusal).toMatchObject({ code: 'observer-failed', stage: 'enforcement', result: null });
    expect(refusal.message).toBe('Cannot call search: the disk is full');
    expect(started).toBe(false);
    expect(run.state).toEqual(before);
    expect(types()).toEqual(['run.started', 'call.refused']);

    disk.full = false;
    expect(await run.callTool('search', {}, () => 'found')).toBe('found');
  });

  test('hears of a start before all others, and before the run has moved', async () => {
    const order: string[] = [];
    const enforcement = createEnforcement();
    enforcement.on(({ type }) => order.push(`listener: ${type}`));
    enforcement.on({
      required: true,
      listen: ({ type }) => order.push(`recorder in ${run?.state.phase}: ${type}`),
    });
    const run = enforcement.beginRun();
    order.length = 0;
    await run.callTool('search', {}, () => order.push('body'));
    expect(order).toEqual([
      'recorder in IDLE: phase.entered',
      'recorder in IDLE: phase.entered',
      'recorder in IDLE: call.started',
      'listener: phase.entered',
      'listener: phase.entered',
      'listener: call.started',
      'body',
      'listener: phase.entered',
      'recorder in OBSERVING: phase.entered',
      'listener: call.ended',
      'recorder in OBSERVING: call.ended',
    ]);
  });

  test('refuses a call when it answers with a promise, which comes too late', async () => {
    const { enforcement } = observed({
      required: true,
      listen: async () => {
        throw new Error('the disk is full');
      },
    });
    const run = enforcement.beginRun();
    const refusal = await refusalOf(run.callTool('search', {}, () => expect.unreachable()));
    expect(refusal.code).toBe('observer-failed');
    expect(refusal.message).toContain('answered with a promise');
  });

  test('is one from when it is put on, or never: it hears of each start all the same', async () => {
    const observer = {
      required: false,
      told: [] as string[],
      listen: ({ type }: PhasegateEvent) => observer.told.push(type),
    };
    const { enforcement, types } = observed(observer);
    const run = enforcement.beginRun();
    observer.required = true;
    await run.callTool('search', {}, () => {});
    expect(observer.told).toEqual(types());
  });

  test('harms no call by how it is made', async () => {
    let begun = false;
    const { enforcement } = observed({
      listen: () => {},
      get required(): boolean {
        if (begun) throw new Error('asked too late');
        return true;
      },
    });
    begun = true;
    expect(await enforcement.withRun((run) => run.callTool('search', {}, () => 'found'))).toBe('found');
  });

  test.each([{ required: 'yes' }, { results: 1 }, { inside: true }])('is refused as %o', (wrong) => {
    const observer = { listen: () => {}, ...wrong } as unknown as Observer;
    expect(() => createEnforcement().on(observer)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });

  test('harms nothing when it throws at anything else', async () => {
    const { enforcement } = observed({
      required: true,
      listen({ type }) {
        if (type !== 'call.started' && type !== 'phase.entered') throw new Error('the disk is full');
      },
    });
    expect(await enforcement.withRun((run) => run.callTool('search', {}, () => 'found'))).toBe('found');
  });

  test.each(['serialize', 'concurrent'] as const)(
    'may end the run: then nothing starts, under %s',
    async (parallel) => {
      const { enforcement, types } = observed(
        { required: true, listen: ({ type }) => type === 'call.started' && run.abort('seen enough') },
        { parallel },
      );
      const run = enforcement.beginRun();
      const refusal = await refusalOf(run.callTool('search', {}, () => expect.unreachable()));
      expect(refusal.code).toBe('run-completed');
      expect(refusal.message).toContain('seen enough');
      expect(run.state).toMatchObject({ phase: 'ANSWERING', stepCount: 0, inFlight: 0 });
      expect(types()).toEqual(['run.started', 'call.refused', 'phase.entered', 'run.ended']);
    },
  );

  test('may call a tool in turn: both calls are counted, and the phase is the one of what happened', async () => {
    let inner: Promise<unknown> | undefined;
    const { enforcement } = observed(
      {
        required: true,
        listen(event) {
          if (event.type === 'call.started' && event.tool === 'outer')
            inner = run.callTool('inner', {}, () => 1);
        },
      },
      { parallel: 'concurrent', supervisor: createSupervisor({ maxSteps: 2 }) },
    );
    const run = enforcement.beginRun();
    await run.callTool('outer', {}, () => 2);
    await inner;
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
    expect((await refusalOf(run.callTool('more', {}, () => 3))).code).toBe('step-budget');
  });
});

describe('An observer that stands around code', () => {
  function tracing() {
    const storage = new AsyncLocalStorage<string>();
    const scopes: Scope[] = [];
    const observer: Observer = {
      listen: () => {},
      inside(scope, body) {
        scopes.push(scope);
        return storage.run(`${storage.getStore() ?? ''}/${scope.call ?? scope.run}`, body);
      },
    };
    return { observer, scopes, where: () => storage.getStore() };
  }

  test('has the agent inside of its run, and each body inside of its call', async () => {
    const { observer, scopes, where } = tracing();
    const { enforcement } = observed(observer);
    const search = enforcement.tool('search', async () => where());
    const found = await enforcement.withRun(
      async (run) => [
        where(),
        await search(),
        await run.callTool('outer', {}, (ctx) => ctx.callTool('inner', {}, where), { callId: 'c2' }),
      ],
      { id: 'r1' },
    );
    expect(found).toEqual(['/r1', '/r1/call-1', '/r1/c2/call-3']);
    expect(scopes.map(({ call, seq }) => [call, seq])).toEqual([
      [null, 0],
      ['call-1', 1],
      ['c2', 2],
      ['call-3', 3],
    ]);
    expect(enforcement.beginRun({ id: 'r2' }).inside(where)).toBe('/r2');
  });

  test('and another around it: the later one is the outer one', async () => {
    const { observer, where } = tracing();
    const { enforcement } = observed(observer);
    enforcement.on({
      listen: () => {},
      inside: (_, body) => observer.inside?.({ run: 'x', call: null, seq: 0 }, body),
    });
    expect(enforcement.beginRun({ id: 'r1' }).inside(where)).toBe('/x/r1');
  });

  const harmful: [string, Observer['inside']][] = [
    ['throws before the body', () => thrown()],
    [
      'throws after the body',
      (_, body) => {
        body();
        thrown();
      },
    ],
    ['never runs the body', () => 'mine'],
    ['runs the body twice', (_, body) => [body(), body()]],
    ['answers something else', (_, body) => body() && 'mine'],
    ['swallows what the body throws', (_, body) => swallowed(body)],
  ];

  test.each(harmful)(
    'one that %s: the body runs once, and its result and its error are its own',
    async (_, inside) => {
      const { enforcement } = observed(
        inside === undefined ? { listen: () => {} } : { listen: () => {}, inside },
      );
      const run = enforcement.beginRun();
      let ran = 0;
      expect(await run.callTool('search', {}, () => `found ${++ran}`)).toBe('found 1');
      await expect(run.callTool('search', {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
      expect(() =>
        run.inside(() => {
          throw new Error('out');
        }),
      ).toThrow('out');
      expect(ran).toBe(1);
    },
  );
});

test('What is no observer is refused', () => {
  const enforcement = createEnforcement();
  expect(() => enforcement.on({} as never)).toThrow(
    'observer must be a function, or an observer with `listen`, got an object',
  );
});

function thrown(): never {
  throw new Error('a fault of the observer');
}

function swallowed(body: () => unknown): unknown {
  try {
    return body();
  } catch {
    return undefined;
  }
}

describe('An observer that asks for results', () => {
  test('is told what each call came to, however it was made; without one no event carries it', async () => {
    const enforcement = createEnforcement();
    const told: unknown[] = [];
    const ends = (event: PhasegateEvent) => {
      if (event.type === 'call.ended') told.push('result' in event ? event.result : 'not told');
    };
    const calls = async () => {
      const run = enforcement.beginRun();
      await run.callTool('search', {}, () => ['a page']);
      run.afterCall(await run.beforeCall('search'), 'another page');
      await run.callTool('search', {}, () => Promise.reject(new Error('no'))).catch(() => {});
    };
    enforcement.on(ends);
    await calls();
    const off = enforcement.on({ listen: () => {}, results: true });
    await calls();
    off();
    await calls();
    const untold = ['not told', 'not told', 'not told'];
    expect(told).toEqual([...untold, ['a page'], 'another page', 'not told', ...untold]);
  });
});

describe('A call that checks run on', () => {
  test('is told to be reserved before the check is asked; whoever hears of it may end the run', async () => {
    const asked: string[] = [];
    const check = ({ tool }: { tool: string }) => {
      asked.push(tool);
      return { allowed: true } as const;
    };
    const monitor = createMonitor({}, { checks: [{ name: 'check', check }] });
    const enforcement = createEnforcement({ monitor });
    const run = enforcement.beginRun();
    const heard: string[] = [];
    enforcement.on((event) => {
      heard.push(`${event.type} ${asked.length}`);
      if (event.type === 'call.reserved' && event.tool === 'last') run.finish();
    });
    await run.callTool('first', {}, () => {});
    expect(heard.slice(0, 2)).toEqual(['call.reserved 0', 'phase.entered 1']);
    const refusal = await refusalOf(run.callTool('last', {}, () => {}));
    expect(refusal.code).toBe('run-completed');
    expect(asked).toEqual(['first']);
  });
});
