import { describe, expect, it } from 'vitest';
import { lines } from '../replay/support.ts';
import { folderWith, interruptedAfter, recording, run } from './support.ts';

const good = recording('good', 'a b a');
const bad = recording('bad', 'a !b !b !b !b b a');

describe('phasegate replay', () => {
  it('prints a line a run, what was refused first, and the totals', async () => {
    folderWith({ 'runs.jsonl': good + bad });
    const { code, out, err } = await run(['replay', 'runs.jsonl']);
    expect(code).toBe(1);
    expect(err).toBe('');
    expect(out).toBe(
      [
        '  run             calls  failed   steps  verdict',
        'runs.jsonl',
        '✓ good                3       0       3  allowed',
        '✗ bad                 7       4       1  loop-budget at call 6',
        '    b (line 20): Loop budget exhausted in ACTING: 3/3',
        '    IDLE → PLANNING → ACTING → OBSERVING → PLANNING → ACTING → ACTING ×3',
        '',
        '2 runs   1 allowed   1 refused (1 loop-budget)',
        '10 calls   4 failed   under maxSteps 50, maxLoopsPerPhase 3',
        '',
      ].join('\n'),
    );
  });

  it('ends with 0 when all runs are allowed', async () => {
    folderWith({ 'runs.jsonl': good });
    const { code, out } = await run(['replay', 'runs.jsonl']);
    expect(code).toBe(0);
    expect(out).toContain('1 run   1 allowed   0 refused');
  });

  it('prints one JSON object a run with --json, and nothing else', async () => {
    folderWith({ 'runs.jsonl': good + bad });
    const { code, out, err } = await run(['replay', '--json', 'runs.jsonl']);
    expect(code).toBe(1);
    expect(err).toBe('');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      {
        file: 'runs.jsonl',
        index: 0,
        run: 'good',
        calls: 3,
        failed: 0,
        verdict: 'allowed',
        firstRefusal: null,
        stepCount: 3,
      },
      {
        file: 'runs.jsonl',
        index: 1,
        run: 'bad',
        calls: 7,
        failed: 4,
        verdict: 'loop-budget',
        firstRefusal: {
          seq: 6,
          tool: 'b',
          callId: 'b-5',
          code: 'loop-budget',
          message: expect.stringContaining('Loop budget exhausted in ACTING: 3/3'),
        },
        stepCount: 1,
      },
    ]);
  });

  it('goes on after a refusal with --all, and counts', async () => {
    folderWith({ 'runs.jsonl': recording('bad', 'a b a !b') });
    const text = await run(['replay', '--all', '--max-steps', '1', 'runs.jsonl']);
    expect(text.out).toContain('step-budget at call 2, 3 refused');
    expect(text.out).toContain('3 refusals');
    const { out } = await run(['replay', '--all', '--json', '--max-steps', '1', 'runs.jsonl']);
    expect(JSON.parse(out)).toMatchObject({ verdict: 'step-budget', firstRefusal: { seq: 2 }, refused: 3 });
  });

  it('goes by the budgets given, else by those of the configuration', async () => {
    folderWith({
      'runs.jsonl': good,
      'phasegate.yaml': 'agent_profile:\n  resource_budget:\n    max_steps: 2\n    max_loops_per_phase: 7\n',
    });
    const configured = await run(['replay', 'runs.jsonl', '-c', 'phasegate.yaml']);
    expect(configured.out).toContain('step-budget at call 3');
    expect(configured.out).toContain('under maxSteps 2, maxLoopsPerPhase 7');
    const given = await run([
      'replay',
      'runs.jsonl',
      '-c',
      'phasegate.yaml',
      '--max-steps',
      'Infinity',
      '--max-loops',
      '0',
    ]);
    expect(given.code).toBe(0);
    expect(given.out).toContain('under maxSteps Infinity, maxLoopsPerPhase 0');
  });

  it('says when the configuration enforces no budget at all', async () => {
    folderWith({ 'runs.jsonl': bad, 'off.yaml': 'enabledChecks: []\n' });
    const { code, out } = await run(['replay', 'runs.jsonl', '-c', 'off.yaml']);
    expect(code).toBe(0);
    expect(out).toContain('the dfa check is not enabled: no budget is enforced');
  });

  it('says which runs hold no tool call, as those prove nothing', async () => {
    folderWith({ 'runs.jsonl': recording('idle', '') });
    const { code, out } = await run(['replay', 'runs.jsonl']);
    expect(code).toBe(0);
    expect(out).toContain('1 run holds no tool call');
  });

  it('lists of many runs only those that are refused', async () => {
    const many = Array.from({ length: 60 }, (_, i) => recording(`good-${i}`, 'a')).join('');
    folderWith({ 'runs.jsonl': many + bad + many });
    const { out } = await run(['replay', 'runs.jsonl']);
    expect(out).not.toContain('good-');
    expect(out).toContain('✗ bad ');
    expect(out).toContain('121 runs   120 allowed   1 refused (1 loop-budget)');
    expect(out).toContain('of more than 40 runs only those that are refused have a line');
  });

  it('says so where all of many runs are allowed, and of few lists each', async () => {
    const runs = (length: number) => Array.from({ length }, (_, i) => recording(`good-${i}`, 'a')).join('');
    folderWith({ 'many.jsonl': runs(41), 'few.jsonl': runs(40) });
    const note = 'only those that are refused have a line';
    const many = await run(['replay', 'many.jsonl']);
    expect(many.out).not.toContain('good-');
    expect(many.out).toContain(note);
    const few = await run(['replay', 'few.jsonl']);
    expect(few.out.match(/^✓ good-/gm)).toHaveLength(40);
    expect(few.out).not.toContain(note);
  });

  it('calls a run that is all of its file by the file', async () => {
    folderWith({ 'chat.json': JSON.stringify([{ role: 'user', content: 'hi' }]) });
    const { out } = await run(['replay', 'chat.json']);
    expect(out).toMatch(/^✓ chat\.json +0 +0 +0 {2}allowed$/m);
  });

  it('keeps lines within the width of the terminal', async () => {
    folderWith({
      'runs.jsonl': `${recording('a-name-that-is-quite-long-'.repeat(5), 'a !b !b !b !b !b')}${bad}`,
    });
    const { out } = await run(['replay', 'runs.jsonl'], { tty: true, columns: 72, env: { NO_COLOR: '1' } });
    const widest = Math.max(...out.split('\n').map((line) => line.length));
    expect(widest).toBeLessThanOrEqual(72);
  });

  it('lets no control character of a recording through to the terminal', async () => {
    folderWith({ 'runs.jsonl': recording('evil\u001b[2J\u0007', 'a\u001b]0;x\u0007') });
    const { out } = await run(['replay', 'runs.jsonl', '--max-steps', '0']);
    expect(out).toContain('evil');
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('paints on a terminal only, unless it is told otherwise', async () => {
    folderWith({ 'runs.jsonl': good });
    const painted = async (options: Parameters<typeof run>[1]) =>
      (await run(['replay', 'runs.jsonl'], options)).out.includes('\u001b[');
    expect(await painted({})).toBe(false);
    expect(await painted({ tty: true })).toBe(true);
    expect(await painted({ tty: true, env: { NO_COLOR: '1' } })).toBe(false);
    expect(await painted({ tty: true, env: { TERM: 'dumb' } })).toBe(false);
    expect(await painted({ env: { FORCE_COLOR: '1' } })).toBe(true);
    expect(await painted({ tty: true, env: { FORCE_COLOR: '0' } })).toBe(false);
  });
});

describe('the files of phasegate replay', () => {
  const filesOf = async (...args: string[]) => {
    const { out, err, code } = await run(['replay', '--json', ...args]);
    const files = out
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { file: string }).file);
    return { files, err, code };
  };

  it('may be globs, of which each file is read once, in the order of their names', async () => {
    folderWith({ 'r10.jsonl': good, 'r2.jsonl': good, 'r1.jsonl': good, 'other.txt': 'x' });
    expect(await filesOf('r2.jsonl', '*.jsonl', 'r*.jsonl')).toEqual({
      files: ['r2.jsonl', 'r1.jsonl', 'r10.jsonl'],
      err: '',
      code: 0,
    });
  });

  it('may have names that look like a glob', async () => {
    folderWith({ 'run[1].jsonl': good, 'run1.jsonl': good });
    expect((await filesOf('run[1].jsonl')).files).toEqual(['run[1].jsonl']);
  });

  it('may be standard input', async () => {
    folderWith({});
    const { code, out } = await run(['replay', '-', '--json'], { stdin: good });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ file: 'stdin', run: 'good', calls: 3 });
  });

  it('that cannot be read are told of with file and line, the others are done, and the code is 2', async () => {
    folderWith({
      'cut.jsonl': `${good}{"type":"run.sta`,
      'bad.jsonl': bad,
      'text.md': '# Hello\n',
      'empty.json': '',
    });
    const { files, err, code } = await filesOf(
      'nowhere.jsonl',
      'text.md',
      'cut.jsonl',
      'zz*.json',
      'empty.json',
      '.',
      'bad.jsonl',
    );
    expect(code).toBe(2);
    expect(files).toEqual(['cut.jsonl', 'bad.jsonl']);
    const told = err.trimEnd().split('\n');
    expect(told).toEqual([
      'unreadable: zz*.json: no file is named like that',
      'unreadable: nowhere.jsonl: there is no such file',
      expect.stringMatching(/^unreadable: text\.md:1: not JSON: /),
      expect.stringMatching(/^unreadable: cut\.jsonl:9: the last line is cut short or broken/),
      expect.stringMatching(/^unreadable: empty\.json: the file is empty/),
      expect.stringMatching(/^unreadable: \.: this is a directory/),
    ]);
  });

  it('that are full of faults do not fill the screen', async () => {
    folderWith({ 'noise.jsonl': good + '{"type":"noise"}\n'.repeat(500), 'more.jsonl': '' });
    const { err, out } = await run(['replay', 'noise.jsonl', 'more.jsonl']);
    expect(err.trimEnd().split('\n')).toHaveLength(12);
    expect(err).toContain('unreadable: noise.jsonl: and 490 more like that\n');
    expect(out).toContain('501 pieces of input could not be read');
  });

  it('are read in the format that is named', async () => {
    folderWith({ 'runs.jsonl': good });
    const { code, err } = await run(['replay', 'runs.jsonl', '--format', 'openai']);
    expect(code).toBe(2);
    expect(err).toContain('runs.jsonl:1: expected a message');
    expect((await run(['replay', 'runs.jsonl', '--format', 'phasegate'])).code).toBe(0);
  });

  it('are read in a format of the user', async () => {
    folderWith({
      'log.txt': 'search\nread\n',
      'mine.mjs': `export default {
        name: 'mine',
        async *read(source) {
          let text = '';
          for await (const piece of source.text()) text += piece;
          yield text.split('\\n').filter(Boolean).map((tool, i) => ({ type: 'call.started', run: 'r', call: String(i), tool, line: i + 1 }));
        },
      };`,
      'none.mjs': 'export default { name: "none" };',
      'broken.mjs': 'export default {',
    });
    const { out } = await run(['replay', 'log.txt', '-f', './mine.mjs', '--json']);
    expect(JSON.parse(out)).toMatchObject({ run: 'r', calls: 2, stepCount: 2 });
    for (const [path, code] of [
      ['./none.mjs', 'invalid-format'],
      ['./broken.mjs', 'format-unreadable'],
      ['./nowhere.mjs', 'format-unreadable'],
      ['mine', 'unknown-format'],
    ] as const) {
      const refused = await run(['replay', 'log.txt', '-f', path]);
      expect(refused.code).toBe(2);
      expect(refused.err).toContain(`error (${code}): `);
    }
  });
});

describe('an interruption', () => {
  // A run that has ended, one that is open, and a line that is cut.
  const read = `${good}${lines(
    { type: 'call.started', run: 'open', call: '1', tool: 'a' },
    { type: 'call.ended', run: 'open', call: '1', ok: false },
  )}{"type":"call.sta`;

  it('tells what was read until then, with the runs that were open, and ends with 130', async () => {
    folderWith({ 'later.jsonl': bad });
    const { code, out, err } = await run(['replay', '-', 'later.jsonl'], interruptedAfter(read));
    expect({ code, err }).toEqual({ code: 130, err: '' });
    expect(out).toMatch(/^✓ good +3 +0 +3 {2}allowed$/m);
    expect(out).toMatch(/^✓ open +1 +1 +0 {2}allowed$/m);
    expect(out).toMatch(/\n2 runs .*\n4 calls .*\ninterrupted: this is what was read until then\n$/);
  });

  it('is an object behind those of the runs with --json', async () => {
    const { code, out, err } = await run(['replay', '-', '--json'], interruptedAfter(read));
    expect({ code, err }).toEqual({ code: 130, err: '' });
    const objects = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(objects).toEqual([
      expect.objectContaining({ run: 'good', calls: 3 }),
      expect.objectContaining({ run: 'open', calls: 1 }),
      { interrupted: true },
    ]);
  });

  it('may come before anything is read, which is no fault of the input', async () => {
    const { code, out, err } = await run(['replay', '-'], interruptedAfter(''));
    expect({ code, err }).toEqual({ code: 130, err: '' });
    expect(out).toContain('0 runs');
  });
});

describe('a configuration that enables checks of a program', () => {
  it('is replayed without them, which is said, and with all else', async () => {
    folderWith({
      'runs.jsonl': recording('one', 'a b'),
      'own.yaml': 'enabledChecks: [dfa, no-mail]\nagentProfile: { resourceBudget: { maxSteps: 1 } }\n',
    });
    const { code, err, out } = await run(['replay', 'runs.jsonl', '--config', 'own.yaml', '--json']);
    expect(code).toBe(1);
    expect(err).toContain('note: enabledChecks names "no-mail", which only your program has');
    expect(JSON.parse(out).verdict).toBe('step-budget');
  });

  it('enforces no budget where the dfa stage is off as well', async () => {
    folderWith({
      'runs.jsonl': recording('one', 'a b'),
      'off.yaml': 'enabledChecks: [no-mail]\nagentProfile: { resourceBudget: { maxSteps: 1 } }\n',
    });
    expect((await run(['tune', 'runs.jsonl'])).code).toBe(0);
    expect((await run(['replay', 'runs.jsonl', '--config', 'off.yaml'])).code).toBe(0);
  });
});
