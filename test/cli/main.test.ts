import { describe, expect, it } from 'vitest';
import { folderWith, recording, run } from './support.ts';

const COMMANDS = ['replay', 'tune', 'diagram', 'check', 'paths', 'inspect', 'audit', 'audit verify'];

describe('phasegate', () => {
  it('prints its version', async () => {
    expect(await run(['--version'])).toEqual({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+/),
      err: '',
    });
  });

  it.each([
    [['--help']],
    [['help']],
    [['help', 'check']],
    [['help', 'audit', 'verify']],
    [['replay', '--help']],
    [['tune', '--help']],
  ])('prints help for %j', async (args) => {
    const { code, out, err } = await run(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Usage: phasegate');
  });

  it('shows examples in the help of each command', async () => {
    for (const command of COMMANDS) {
      expect((await run([...command.split(' '), '--help'])).out).toContain(`$ phasegate ${command}`);
    }
  });

  it('keeps each help within the 80 columns of a terminal', async () => {
    for (const command of ['', ...COMMANDS]) {
      const { out } = await run(['help', ...command.split(' ').filter(Boolean)]);
      expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  it.each([
    [[], 'Usage: phasegate'],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['help', 'frobnicate'], "unknown command 'frobnicate'"],
    [['help', 'check', 'x'], "unknown command 'check x'"],
    [['audit', 'runs.jsonl'], 'phasegate audit verify --help says how logs are verified'],
    [
      ['diagram', 'a.yaml', '-c', 'b.yaml'],
      'A configuration is given twice, as a.yaml and as --config b.yaml',
    ],
    [['repaly', 'x'], 'Did you mean replay?'],
    [['replay'], "missing required argument 'files'"],
    [['replay', '--frob', 'x'], "unknown option '--frob'"],
    [['replay', 'x', '--max-steps', '-1'], 'Expected a whole number of 0 or more, or Infinity.'],
    [['replay', 'x', '--max-loops', '1.5'], 'Expected a whole number'],
    [['replay', 'x', '--max-steps', '1e3'], 'Expected a whole number'],
    [['replay', 'x', '--max-steps', '99999999999999999999'], 'Expected a whole number'],
    [['tune', 'x', '--steps', '10,x'], 'Expected whole numbers of 0 or more with commas between them.'],
    [['tune', 'x', '--loops', ''], 'Expected whole numbers'],
  ])('used wrongly, as in %j, says so and ends with 2', async (args, message) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('tells of a configuration that cannot be used, and ends with 2', async () => {
    folderWith({ 'runs.jsonl': recording('r', 'a'), 'bad.yaml': 'dfa:\n  onToolErorr: hold\n' });
    for (const command of ['replay', 'tune']) {
      const wrong = await run([command, 'runs.jsonl', '--config', 'bad.yaml']);
      expect(wrong).toMatchObject({ code: 2, out: '' });
      expect(wrong.err).toMatch(/^error \(invalid-config\): bad\.yaml: 1 fault/);
      expect(wrong.err).toContain('onToolError');
      const absent = await run([command, 'runs.jsonl', '--config', 'absent.yaml']);
      expect(absent.code).toBe(2);
      expect(absent.err).toMatch(/^error \(file-unreadable\): absent\.yaml cannot be read/);
    }
  });

  it('tells of a fault of its own in one line, and never ends with 0', async () => {
    folderWith({ 'runs.jsonl': recording('r', 'a') });
    const { code, err } = await run(['replay', 'runs.jsonl'], { failing: new TypeError('unforeseen') });
    expect(code).toBe(70);
    expect(err).toBe('error (internal-fault): unforeseen\n');
    const debug = await run(['replay', 'runs.jsonl'], {
      failing: new TypeError('unforeseen'),
      env: { PHASEGATE_DEBUG: '1' },
    });
    expect(debug.err).toContain('    at ');
  });
});
