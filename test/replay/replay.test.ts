import { describe, expect, it } from 'vitest';
import { type Check, createMonitor, createSupervisor } from '../../src/index.ts';
import { replay, type TraceEvent, type TraceFormat } from '../../src/replay/index.ts';
import { budgets, lines, replayEvents, replayed, script, scripted, stream } from './support.ts';

const repeat = (text: string, times: number) => `${text} `.repeat(times);

describe('a replay under the step budget', () => {
  it('allows calls 1 to 20 of 20, and refuses call 21 (SPEC §2.1)', async () => {
    const report = await replayEvents(script(repeat('+a -a', 25)), { enforcement: budgets(20, 3) });
    expect(report).toMatchObject({
      calls: 25,
      failed: 0,
      verdict: 'step-budget',
      firstRefusal: { seq: 21, tool: 'a', callId: null, code: 'step-budget' },
      stepCount: 20,
      refused: 1,
    });
    expect(report.firstRefusal?.message).toContain('Step budget exhausted: 20/20');
  });

  it('counts only calls that ended well', async () => {
    const report = await replayEvents(script(repeat('+a !a +a -a', 3)), { enforcement: budgets(2, 3) });
    expect(report).toMatchObject({ calls: 6, failed: 3, firstRefusal: { seq: 5 }, stepCount: 2 });
  });

  it('charges a call without a result as a step, be it said or not', async () => {
    expect(await replayEvents(script('+a ?a +b ?b +c'), { enforcement: budgets(2, 3) })).toMatchObject({
      firstRefusal: { seq: 3 },
      failed: 0,
    });
    expect(await replayEvents(script('+a'), {})).toMatchObject({
      calls: 1,
      stepCount: 1,
      verdict: 'allowed',
    });
  });

  it('goes by the configuration, with all that it says', async () => {
    const events = script(repeat('+a !a', 5));
    const config = { agentProfile: { resourceBudget: { maxLoopsPerPhase: 0 } } };
    expect((await replayEvents(events, { enforcement: { config } })).verdict).toBe('loop-budget');
    const observe = { ...config, dfa: { onToolError: 'observe' as const } };
    expect((await replayEvents(events, { enforcement: { config: observe } })).verdict).toBe('allowed');
    const off = { ...config, enabledChecks: [] };
    expect((await replayEvents(events, { enforcement: { config: off } })).verdict).toBe('allowed');
  });

  it('goes by a supervisor with another table', async () => {
    const supervisor = createSupervisor();
    supervisor.removeTransition('OBSERVING', 'PLANNING');
    const report = await replayEvents(script('+a -a +b -b'), { enforcement: { supervisor } });
    expect(report.firstRefusal).toMatchObject({ seq: 2, code: 'action-unreachable' });
  });
});

describe('a replay under the loop budget', () => {
  it('bounds retries after failures (SPEC §5.5)', async () => {
    const report = await replayEvents(script(repeat('+a !a', 6)), { enforcement: budgets(50, 3) });
    expect(report).toMatchObject({
      verdict: 'loop-budget',
      firstRefusal: { seq: 5 },
      failed: 6,
      stepCount: 0,
    });
  });

  it('bounds nested calls (SPEC §5.7)', async () => {
    const inside = '+i<o -i '.repeat(4);
    const report = await replayEvents(script(`+o ${inside} -o`), { enforcement: budgets(50, 3) });
    expect(report).toMatchObject({
      verdict: 'loop-budget',
      firstRefusal: { seq: 5, tool: 'i' },
      figures: { nested: 4 },
    });
    expect((await replayEvents(script(`+o ${inside} -o`), { enforcement: budgets(50, 4) })).verdict).toBe(
      'allowed',
    );
  });
});

describe('a replay of calls that overlap', { timeout: 60_000 }, () => {
  it('makes them one after the other under `serialize` (SPEC §5.6)', async () => {
    const report = await replayEvents(script('+a +b +c -c !b -a +d -d'), { enforcement: budgets(50, 0) });
    // b failed, so that c was a retry: as it would have been one after the other.
    expect(report).toMatchObject({ firstRefusal: { seq: 3, tool: 'c' }, calls: 4, failed: 1 });
    expect(await replayEvents(script('+a +b +c -c -b -a'), { enforcement: budgets(50, 0) })).toMatchObject({
      verdict: 'allowed',
      stepCount: 3,
      figures: { steps: 3 },
    });
  });

  it('lets them join each other under `concurrent`', async () => {
    const report = await replayEvents(script('+a +b +c -c !b -a'), {
      enforcement: budgets(50, 0, 'concurrent'),
    });
    expect(report).toMatchObject({ verdict: 'allowed', stepCount: 2 });
    expect(
      await replayEvents(script('+a +b +c !a !b !c'), { enforcement: budgets(2, 0, 'concurrent') }),
    ).toMatchObject({
      verdict: 'step-budget',
      firstRefusal: { seq: 3 },
    });
  });

  it('goes by `parallel` wherever it is said', async () => {
    const events = script('+a +b +c !a !b !c');
    const { config } = budgets(2, 3);
    expect((await replayEvents(events, { enforcement: { config } })).verdict).toBe('allowed');
    expect((await replayEvents(events, { enforcement: { config, parallel: 'concurrent' } })).verdict).toBe(
      'step-budget',
    );
    const monitor = createMonitor({ ...config, dfa: { parallel: 'concurrent' } });
    expect((await replayEvents(events, { enforcement: { monitor } })).verdict).toBe('step-budget');
  });

  it('does not wait to the end of the file for a call that has lost its end', async () => {
    let made = 0;
    let madeBeforeTheEnd = 0;
    const counting = { name: 'count', check: () => ({ allowed: ++made > 0 }) };
    const config = budgets(Number.POSITIVE_INFINITY, 3).config;
    const monitor = createMonitor(config, { checks: [counting as Check] });
    const format: TraceFormat = {
      name: 'lost',
      description: '',
      async *read() {
        yield script('+lost');
        yield Array.from({ length: 6_000 }, (_, i) => script(`+c${i} -c${i}`)).flat();
        madeBeforeTheEnd = made;
      },
    };
    const { reports } = await replayed('x', { format, enforcement: { monitor } });
    expect(madeBeforeTheEnd).toBeGreaterThan(1000);
    expect(reports).toMatchObject([{ calls: 6_001, verdict: 'allowed', stepCount: 6_001 }]);
  });

  it('makes all calls of a recording that holds no ends, charging each', async () => {
    const starts = Array.from({ length: 12_000 }, (_, i) => script(`+c${i}`)).flat();
    const report = await replayEvents(starts, { enforcement: budgets(Number.POSITIVE_INFINITY, 3) });
    expect(report).toMatchObject({ calls: 12_000, verdict: 'allowed', stepCount: 12_000 });
  });
});

describe('a replay of sub-agents', () => {
  const child = (run: string, parent: string, call: string): TraceEvent => ({
    type: 'run.started',
    run,
    parent: { run: parent, call },
  });
  const over = (run: string): TraceEvent => ({ type: 'run.ended', run });

  it('makes their calls in a child run, which shares the step budget (SPEC §10.2)', async () => {
    const events = [
      ...script('+t'),
      child('c', 'r', 't'),
      ...script('+a -a +b -b +d -d', 'c'),
      over('c'),
      ...script('-t'),
    ];
    expect(await replayEvents(events, { enforcement: budgets(4, 0) })).toMatchObject({
      verdict: 'allowed',
      stepCount: 4,
    });
    expect(await replayEvents(events, { enforcement: budgets(3, 0) })).toMatchObject({
      calls: 4,
      firstRefusal: { seq: 4, message: expect.stringContaining('(parent run)') },
      stepCount: 2,
    });
  });

  it('keeps what happens in one whose call waits its turn until the call is admitted', async () => {
    // In the recording the second sub-agent runs first; one after the other, the first one is first.
    const events = [
      ...script('+t1 +t2'),
      child('c2', 'r', 't2'),
      ...script('+x -x +y -y', 'c2'),
      over('c2'),
      ...script('-t2'),
      child('c1', 'r', 't1'),
      ...script('+a -a', 'c1'),
      ...script('-t1'),
    ];
    const all = await replayEvents(events, { enforcement: budgets(5, 0) });
    expect(all).toMatchObject({ verdict: 'allowed', stepCount: 5, calls: 5 });
    const cut = await replayEvents(events, { enforcement: budgets(3, 0) });
    // t1 and a are steps 1 and 2, t2 is under way, so x is one too many.
    expect(cut).toMatchObject({ firstRefusal: { seq: 3, tool: 'x' }, stepCount: 2 });
    const together = await replayEvents(events, { enforcement: budgets(3, 0, 'concurrent') });
    expect(together).toMatchObject({ firstRefusal: { seq: 4, tool: 'y' } });
  });

  it('nests them no deeper than is allowed (SPEC §10.3), and refuses the call that does', async () => {
    const events: TraceEvent[] = script('+t', 'r0');
    for (let depth = 1; depth <= 7; depth++) {
      events.push(child(`r${depth}`, `r${depth - 1}`, 't'), ...script('+t', `r${depth}`));
    }
    const report = await replayEvents(events, { enforcement: budgets(50, 3) });
    expect(report).toMatchObject({
      calls: 8,
      verdict: 'depth-exceeded',
      firstRefusal: { seq: 6, tool: 't', message: 'Runs nest deeper than 5' },
      figures: { depth: 7 },
    });
  });

  it('lets one outlive the call that began it', async () => {
    const events = [
      ...script('+t'),
      child('c', 'r', 't'),
      ...script('-t'),
      ...script('+a -a', 'c'),
      ...script('+z -z'),
      over('r'),
    ];
    expect(await replayEvents(events, { enforcement: budgets(3, 0) })).toMatchObject({
      verdict: 'allowed',
      stepCount: 3,
    });
    const late = [...script('+t -t'), child('c', 'r', 't'), ...script('+a -a', 'c')];
    expect(await replayEvents(late, {})).toMatchObject({ calls: 2, stepCount: 2, figures: { depth: 1 } });
  });

  it('forgets them with their parent, so that another run may be called the same', async () => {
    const events = [
      ...script('+t'),
      child('c', 'r', 't'),
      over('r'),
      ...script('+z -z', 'other'),
      ...script('+a -a', 'c'),
    ];
    const again: TraceEvent = { type: 'run.started', run: 'c' };
    const { reports, faults } = await replayed([], scripted([...events, again, ...script('+b -b', 'c')]));
    expect(faults).toEqual([]);
    expect(reports.map(({ run, calls }) => [run, calls]).sort()).toEqual([
      ['c', 1],
      ['other', 1],
      ['r', 2],
    ]);
  });

  it('ends them with their parent', async () => {
    const events = [
      ...script('+t'),
      child('c', 'r', 't'),
      ...script('+a', 'c'),
      over('r'),
      ...script('+b', 'c'),
    ];
    expect(await replayEvents(events, {})).toMatchObject({
      calls: 3,
      stepCount: 2,
      firstRefusal: { seq: 3, tool: 'b', code: 'run-completed' },
    });
  });
});

describe('after the first refusal', () => {
  it('the rest of the run is counted only', async () => {
    const report = await replayEvents(script('+a -a +b -b +c !c +d<c -d'), { enforcement: budgets(1, 3) });
    expect(report).toMatchObject({ calls: 4, failed: 1, refused: 1, firstRefusal: { seq: 2 }, stepCount: 1 });
  });

  it('with `all` the run goes on as if the call had not been made', async () => {
    const events = script('+a !a +b !b +c -c +d !d +e !e');
    // With no retries: b is refused, and so is c, as the run is still where a left it.
    expect(await replayEvents(events, { enforcement: budgets(50, 0), all: true })).toMatchObject({
      refused: 4,
      firstRefusal: { seq: 2 },
      stepCount: 0,
    });
    expect(await replayEvents(events, { enforcement: budgets(50, 1), all: true })).toMatchObject({
      refused: 3,
      firstRefusal: { seq: 3 },
    });
  });

  it('with `all` nothing is made inside of a call that was refused: no nested calls, no sub-agents', async () => {
    const events: TraceEvent[] = [
      ...script('+a -a +b +n<b -n'),
      { type: 'run.started', run: 'c', parent: { run: 'r', call: 'b' } },
      ...script('+x -x', 'c'),
      { type: 'run.ended', run: 'c' },
      ...script('-b +d -d'),
    ];
    const report = await replayEvents(events, { enforcement: budgets(1, 3), all: true });
    expect(report).toMatchObject({ calls: 5, refused: 2, stepCount: 1, firstRefusal: { seq: 2, tool: 'b' } });
  });

  it('a run that ends for it stays ended (SPEC §6.5)', async () => {
    const config = { ...budgets(1, 3).config, dfa: { onBudgetExhausted: 'terminate' as const } };
    const report = await replayEvents(script('+a -a +b -b +c -c'), { enforcement: { config }, all: true });
    expect(report).toMatchObject({ verdict: 'step-budget', refused: 2, stepCount: 1 });
  });
});

describe('what a refusal tells', () => {
  it('is the call, where it stands, and the phases until then, in few words', async () => {
    const recording = lines(
      ...Array.from({ length: 20 }, () => [
        { type: 'call.started', run: 'r', call: 'one', tool: 'a' },
        { type: 'call.ended', run: 'r', call: 'one', ok: true },
      ]).flat(),
      ...Array.from({ length: 5 }, () => [
        { type: 'call.started', run: 'r', call: 'two', tool: 'b' },
        { type: 'call.ended', run: 'r', call: 'two', ok: false },
      ]).flat(),
    );
    const { reports } = await replayed(recording);
    expect(reports[0]?.firstRefusal).toEqual({
      seq: 25,
      tool: 'b',
      callId: 'two',
      code: 'loop-budget',
      message: expect.stringContaining('Loop budget exhausted in ACTING: 3/3'),
      file: 'memory',
      line: 49,
      path: [
        { phases: ['IDLE', 'PLANNING', 'ACTING'], times: 1 },
        { phases: ['OBSERVING', 'PLANNING', 'ACTING'], times: 20 },
        { phases: ['ACTING'], times: 3 },
      ],
    });
  });

  it('ends where the run was when the call came', async () => {
    const { firstRefusal } = await replayEvents(script('+a -a +b'), { enforcement: budgets(1, 3) });
    expect(firstRefusal?.path).toEqual([
      { phases: ['IDLE', 'PLANNING', 'ACTING'], times: 1 },
      { phases: ['OBSERVING'], times: 1 },
    ]);
  });
});

describe('a replay with a monitor', () => {
  it('puts each call to its checks, which may take their time', async () => {
    const seen: unknown[] = [];
    const monitor = createMonitor(
      {},
      {
        checks: [
          {
            name: 'no-mail',
            check: async ({ tool, args, callId }) => {
              await new Promise((resolve) => setImmediate(resolve));
              seen.push([tool, args, callId]);
              return tool === 'mail' ? { allowed: false, message: 'No mail today' } : { allowed: true };
            },
          },
        ],
      },
    );
    const recording = lines(
      { type: 'call.started', run: 'r', call: '1', tool: 'search', args: { q: 1 } },
      { type: 'call.started', run: 'r', call: '2', tool: 'read' },
      { type: 'call.ended', run: 'r', call: '2', ok: true },
      { type: 'call.ended', run: 'r', call: '1', ok: true },
      { type: 'call.started', run: 'r', call: '3', tool: 'mail' },
      { type: 'call.ended', run: 'r', call: '3', ok: true },
      { type: 'call.started', run: 'r', call: '4', tool: 'read' },
    );
    const { reports } = await replayed(recording, { enforcement: { monitor }, all: true });
    expect(reports).toMatchObject([
      {
        calls: 4,
        verdict: 'check-refused',
        refused: 1,
        firstRefusal: { seq: 3, callId: '3', message: 'No mail today' },
        stepCount: 3,
      },
    ]);
    expect(seen).toEqual([
      ['search', { q: 1 }, '1'],
      ['read', undefined, '2'],
      ['mail', undefined, '3'],
      ['read', undefined, '4'],
    ]);
  });
});

describe('what cannot be read', () => {
  it('is told to onFault, and the rest is replayed', async () => {
    const { reports, faults } = await replayed([
      stream('', { name: 'empty' }),
      stream('hello', { name: 'text' }),
      stream('{"spans":[]}', { name: 'spans' }),
      stream(`${lines({ type: 'call.started', run: 'r', tool: 'a' })}{"type":"call.st`, { name: 'cut' }),
    ]);
    expect(reports).toMatchObject([{ file: 'cut', calls: 1, verdict: 'allowed' }]);
    expect(faults).toEqual([
      {
        file: 'empty',
        line: null,
        message: expect.stringContaining('the file is empty. Known are: phasegate, '),
      },
      { file: 'text', line: 1, message: expect.stringContaining('not JSON') },
      {
        file: 'spans',
        line: 1,
        message: expect.stringContaining('no known format holds an object with "spans"'),
      },
      { file: 'cut', line: 2, message: expect.stringContaining('the last line is cut short') },
    ]);
  });

  it('is thrown at the end where there is no onFault', async () => {
    const seen: string[] = [];
    const all = async () => {
      const files = [
        stream('hello', { name: 'text' }),
        stream(lines({ type: 'call.started', run: 'r', tool: 'a' })),
      ];
      for await (const { run } of replay({ files })) seen.push(run);
    };
    await expect(all()).rejects.toMatchObject({
      code: 'unreadable-trace',
      message: expect.stringMatching(/text:1: .*not JSON/),
    });
    expect(seen).toEqual(['r']);
  });

  it.each([
    ['nowhere/at-all.jsonl', 'there is no such file'],
    ['test/replay', 'this is a directory'],
  ])('may be a file: %s', async (file, message) => {
    const faults: unknown[] = [];
    for await (const _ of replay({ files: [file], onFault: (fault) => faults.push(fault) }));
    expect(faults).toEqual([{ file, line: null, message: expect.stringContaining(message) }]);
  });

  it('may be a file without any run, in the format that it is read in', async () => {
    const { faults } = await replayed([], scripted([]));
    expect(faults).toEqual([{ file: 'memory', line: null, message: 'it holds no run' }]);
  });

  it('may be a format that throws, after which its runs are reported as far as they went', async () => {
    const format = {
      name: 'bad',
      description: '',
      async *read() {
        yield script('+a -a');
        yield (function* (): Generator<TraceEvent> {
          yield* script('+b -b');
          throw new Error('cannot go on');
        })();
      },
    };
    const { reports, faults } = await replayed('x', { format });
    expect(reports).toMatchObject([{ calls: 1 }]);
    expect(faults).toEqual([{ file: 'memory', line: null, message: 'cannot go on' }]);
  });

  it.each<[string, TraceEvent[], string]>([
    ['a call that begins twice', script('+a +a'), 'call a of run r begins a second time'],
    [
      'a run that begins twice',
      [...script('+a'), { type: 'run.started', run: 'r' }],
      'run r begins a second time',
    ],
    ['an end in no run', script('-a'), 'call a ends in run r, which is not open'],
    [
      'a call without a tool',
      [{ type: 'call.started', run: 'r', call: 'a', tool: '' }],
      'has no name of a tool',
    ],
    [
      'an id that is none',
      [{ type: 'call.started', run: 'r', call: 'a', tool: 'a', callId: 1 as never }],
      'must be a string',
    ],
    [
      'a child of no run',
      [{ type: 'run.started', run: 'c', parent: { run: 'p', call: 'a' } }],
      'it is an outermost run here',
    ],
    ['an unknown event', [...script('+a'), { type: 'call.start' } as never], 'unknown type "call.start"'],
  ])('may be an event that makes no sense: %s', async (_, events, message) => {
    const { faults } = await replayed([], scripted(events));
    expect(faults).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })]);
  });
});

describe('reading', { timeout: 60_000 }, () => {
  it('takes a list of files, not a name', async () => {
    const all = async () => {
      for await (const _ of replay({ files: 'runs.jsonl' }));
    };
    await expect(all()).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  it('copes with a byte order mark, UTF-16, broken UTF-8 and CRLF', async () => {
    const text =
      '{"type":"call.started","run":"ü","tool":"a"}\r\n{"type":"call.ended","run":"ü","ok":false}\r\n';
    const utf8 = Buffer.from(text);
    const at = utf8.indexOf('"a"');
    const encodings = {
      plain: utf8,
      mark: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8]),
      utf16le: Buffer.from(`\ufeff${text}`, 'utf16le'),
      utf16be: Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
      broken: Buffer.concat([utf8.subarray(0, at + 1), Buffer.from([0xff, 0xc3]), utf8.subarray(at + 1)]),
    };
    for (const [name, bytes] of Object.entries(encodings)) {
      for (const piece of [1, 2, 3, 1000]) {
        const { reports, faults } = await replayed([stream(bytes, { name, piece })]);
        expect(faults).toEqual([]);
        expect(reports).toMatchObject([{ run: 'ü', calls: 1, failed: 1 }]);
      }
    }
  });

  it('pulls no more of a file than it has to hand', async () => {
    const recording = lines({ type: 'run.started', run: 'r' }, { type: 'call.started', run: 'r', tool: 'a' });
    let pulled = 0;
    let closed = false;
    async function* endless() {
      try {
        for (;;) {
          pulled += 1;
          yield Buffer.from(recording + lines({ type: 'run.ended', run: 'r' }));
        }
      } finally {
        closed = true;
      }
    }
    let reports = 0;
    for await (const _ of replay({ files: [{ name: 'endless', bytes: endless() }] })) {
      reports += 1;
      if (reports === 500) break;
    }
    // The reports of the latest runs are held back, for calls that these may have left behind.
    expect(pulled).toBeLessThan(700);
    expect(closed).toBe(true);
  });

  it('stops when it is told to, with the reason', async () => {
    const controller = new AbortController();
    async function* bytes() {
      yield Buffer.from(lines({ type: 'call.started', run: 'r', tool: 'a' }));
      controller.abort(new Error('enough'));
      yield Buffer.from(lines({ type: 'call.started', run: 'r', tool: 'b' }));
    }
    const all = async () => {
      for await (const _ of replay({ files: [{ name: 'x', bytes: bytes() }], signal: controller.signal }));
    };
    await expect(all()).rejects.toThrow('enough');
  });

  const slips: [string, unknown, RegExp][] = [
    [
      'a slip in the name of an option',
      { files: [], enforcment: {} },
      /There is no option "enforcment" of replay/,
    ],
    ['a list in place of options', ['runs.jsonl'], /The options of replay must be an object/],
    ['no files', {}, /files must be a list of paths or streams/],
    ['one path in place of a list', { files: 'runs.jsonl' }, /files must be a list of paths or streams/],
  ];

  it.each(slips)('refuses %s', async (_, options, message) => {
    const all = async () => {
      for await (const _ of replay(options as never));
    };
    await expect(all()).rejects.toThrow(message);
  });

  it('tells how much it has read', async () => {
    const recording = lines({ type: 'call.started', run: 'r', tool: 'a' });
    let bytes = 0;
    await replayed([stream(recording, { piece: 7 })], { onProgress: (more) => (bytes += more) });
    expect(bytes).toBe(recording.length);
  });
});
