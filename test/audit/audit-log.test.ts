import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AuditLogOptions, auditLog } from '../../src/audit/index.ts';
import { createEnforcement, createSupervisor } from '../../src/index.ts';
import { refusalOf } from '../core/helpers.ts';
import { replayed } from '../replay/support.ts';
import { eventsIn, newPath, recordsOf } from './support.ts';

/** A run of two calls, one of which fails, under an audit log at that path. */
async function logged(path: string, options: AuditLogOptions = {}): Promise<void> {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
  const log = auditLog(path, options);
  enforcement.on(log);
  await enforcement.withRun(
    async (run) => {
      await run.callTool('search', { q: 'secret' }, () => ['a page']);
      await run.callTool('send', { to: 'someone' }, () => 'sent').catch(() => {});
    },
    { id: 'main' },
  );
  await log.close();
}

describe('An audit log', () => {
  it('holds every event of an enforcement, as a line that a replay reads', async () => {
    const path = newPath();
    await logged(path);
    const text = readFileSync(path, 'utf8');
    expect(eventsIn(text).map(({ type }) => type)).toEqual([
      'run.started',
      'phase.entered',
      'phase.entered',
      'call.started',
      'phase.entered',
      'call.ended',
      'call.refused',
      'phase.entered',
      'run.ended',
    ]);
    const { reports, faults } = await replayed(text, { all: true });
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ run: 'main', calls: 2, verdict: 'allowed', stepCount: 2 }]);
  });

  it('says at its beginning what it is, and at its end that it was closed', async () => {
    const path = newPath();
    await logged(path);
    const records = recordsOf(path);
    expect(records[0]).toMatchObject({ type: 'log.opened', version: 1, part: 1, chain: null });
    expect(records.at(-1)).toMatchObject({ type: 'log.closed' });
  });

  it('is with the operating system before the body of a call starts', async () => {
    const path = newPath();
    const enforcement = createEnforcement();
    enforcement.on(auditLog(path));
    const seen = await enforcement.withRun((run) =>
      run.callTool('search', {}, () => recordsOf(path).at(-1)?.type),
    );
    expect(seen).toBe('call.started');
  });

  it('is for its owner only, unless other permissions are given; a file that is there keeps its own', async () => {
    const path = newPath();
    await logged(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const shared = newPath();
    await logged(shared, { mode: 0o640 });
    expect(statSync(shared).mode & 0o777).toBe(0o640);
    chmodSync(path, 0o660);
    await logged(path);
    expect(statSync(path).mode & 0o777).toBe(0o660);
  });

  it('goes on where it ended, under the same name', async () => {
    const path = newPath();
    await logged(path);
    await logged(path);
    const opened = recordsOf(path).filter(({ type }) => type === 'log.opened');
    expect(opened).toHaveLength(2);
    expect(opened[1]).toMatchObject({ log: opened[0]?.['log'], part: 1 });
    const { reports } = await replayed(readFileSync(path));
    expect(reports).toHaveLength(2);
  });

  it('takes the events of several enforcements', async () => {
    const path = newPath();
    const log = auditLog(path);
    for (const id of ['a', 'b']) {
      const enforcement = createEnforcement();
      enforcement.on(log);
      await enforcement.withRun((run) => run.callTool('search', {}, () => {}), { id });
    }
    const { reports } = await replayed(readFileSync(path));
    expect(reports.map(({ run }) => run)).toEqual(['a', 'b']);
  });

  it('loses, and counts, what comes after it was closed', async () => {
    const faults: Error[] = [];
    const enforcement = createEnforcement();
    const log = auditLog(newPath(), { onFault: (error) => faults.push(error) });
    enforcement.on(log);
    await log.close();
    await enforcement.withRun(() => {});
    expect(log.lost).toBe(3);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toMatch(/cannot be written, and loses records: it was closed$/);
    await log.close();
  });
});

describe('What an audit log holds of values', () => {
  const [args, result, error] = ['args', 'result', 'error'];
  async function fieldsOf(options: AuditLogOptions, values: { args?: unknown; result?: unknown } = {}) {
    const path = newPath();
    const enforcement = createEnforcement();
    const log = auditLog(path, options);
    enforcement.on(log);
    const given = { args: { q: 'secret' }, result: 'found', ...values };
    await enforcement.withRun(async (run) => {
      await run.callTool('search', given.args, () => given.result);
      await run.callTool('fails', given.args, () => Promise.reject(new TypeError('no'))).catch(() => {});
    });
    const [started, ended, startedBad, failed] = recordsOf(path).filter(({ type }) =>
      ['call.started', 'call.ended'].includes(type),
    );
    return { started, ended, startedBad, failed, log, text: readFileSync(path, 'utf8') };
  }

  it('is none of them, unless they are asked for', async () => {
    const { started, ended, failed, text } = await fieldsOf({});
    expect(text).not.toContain('secret');
    expect(text).not.toContain('found');
    for (const record of [started, ended, failed]) {
      for (const name of [args, result, error]) expect(record).not.toHaveProperty(name as string);
    }
  });

  it('is the kinds that are asked for', async () => {
    const { started, ended, failed } = await fieldsOf({
      capture: { args: true, results: true, errors: true },
    });
    expect(started).toMatchObject({ args: { q: 'secret' } });
    expect(ended).toMatchObject({ result: 'found' });
    expect(failed).toMatchObject({ error: { name: 'TypeError', message: 'no' } });
    const only = await fieldsOf({ capture: { errors: true } });
    expect(only.started).not.toHaveProperty('args');
    expect(only.ended).not.toHaveProperty('result');
    expect(only.failed).toHaveProperty('error');
  });

  it.each(['continue', 'refuse'] as const)(
    'comes before what somebody does as it is read, where a fault makes calls %s',
    async (onError) => {
      const path = newPath();
      const enforcement = createEnforcement();
      enforcement.on(auditLog(path, { capture: { args: true }, onError }));
      const run = enforcement.beginRun();
      const args = { toJSON: () => run.abort('read') };
      await expect(run.callTool('search', args, () => 'a page')).rejects.toThrow('already completed: read');
      const told = eventsIn(readFileSync(path, 'utf8')).map(({ type }) => type);
      expect(told.indexOf('call.started')).toBeLessThan(told.indexOf('run.ended'));
      expect(told.at(-1)).not.toBe('call.started');
    },
  );

  it('refuses a call that is asked for as they are read, where a call that cannot be logged is refused', () => {
    const path = newPath();
    const enforcement = createEnforcement({ parallel: 'concurrent' });
    const inner = enforcement.beginRun({ id: 'inner' });
    let answer: unknown;
    const redact = () => {
      answer ??= inner.admit('inner');
    };
    enforcement.on(auditLog(path, { capture: { args: true }, redact, onError: 'refuse' }));
    enforcement.beginRun({ id: 'outer' }).admit('outer');
    expect(answer).toMatchObject({ code: 'observer-failed' });
    const calls = recordsOf(path).filter(({ type }) => type.startsWith('call.'));
    expect(calls.map(({ type, tool }) => [type, tool])).toEqual([
      ['call.started', 'outer'],
      ['call.refused', 'inner'],
    ]);
  });

  it('is what `redact` makes of them, which is told what each is', async () => {
    const told: unknown[] = [];
    const { started, ended, failed } = await fieldsOf({
      capture: { args: true, results: true, errors: true },
      redact(value, what) {
        told.push([what.kind, what.tool]);
        if (what.kind === 'args') return { ...(value as object), q: '***' };
        return undefined;
      },
    });
    expect(started).toMatchObject({ args: { q: '***' } });
    expect(ended).not.toHaveProperty('result');
    expect(failed).not.toHaveProperty('error');
    expect(told).toEqual([
      ['args', 'search'],
      ['result', 'search'],
      ['args', 'fails'],
      ['error', 'fails'],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['answers with a promise', async () => 'later'],
    ['answers with a promise that rejects', () => Promise.reject(new Error('no'))],
  ])('is nothing where `redact` %s, which is counted', async (_, redact) => {
    const { started, ended, log, text } = await fieldsOf({ capture: { args: true }, redact });
    expect(text).not.toContain('secret');
    expect(started).toMatchObject({ leftOut: { args: 'redact failed' } });
    expect(ended).not.toHaveProperty('leftOut');
    expect(log.withheld).toBe(2);
    expect(log.lost).toBe(0);
  });

  const holdsItself: { self?: unknown } = {};
  holdsItself.self = holdsItself;
  let deep: unknown = 'bottom';
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const throws = {
    get secret(): string {
      throw new Error('no');
    },
  };
  const endless = (): object => ({
    get more() {
      return endless();
    },
  });
  it.each([
    ['a bigint', { id: 12n }, { id: '12' }],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an error inside', { why: new RangeError('far') }, { why: { name: 'RangeError', message: 'far' } }],
    ['what holds itself', holdsItself, /^no JSON: /],
    ['what throws when it is read', throws, /^no JSON: /],
    ['a function', () => 'secret', 'no JSON: function'],
    ['what is too deep', deep, 'deeper than 100 levels'],
    ['what is too long', { text: 'x'.repeat(70_000) }, 'longer than 65536 bytes'],
    ['what is too long in bytes', { text: '€'.repeat(30_000) }, 'longer than 65536 bytes'],
    ['what has no end', endless(), 'deeper than 100 levels'],
  ])('may be of %s', async (_, value, expected) => {
    for (const chain of [false, true]) {
      const { started, log } = await fieldsOf({ capture: { args: true }, chain }, { args: value });
      const leftOut = (started?.['leftOut'] as { args: string } | undefined)?.args;
      if (expected instanceof RegExp) expect(leftOut).toMatch(expected);
      else expect(leftOut ?? started?.['args']).toEqual(expected);
      expect(log.lost).toBe(0);
    }
  });

  it('is no longer than `maxValueBytes`', async () => {
    const { started, ended } = await fieldsOf(
      { capture: { args: true, results: true }, maxValueBytes: 10 },
      { args: '12345678', result: '123456789' },
    );
    expect(started).toMatchObject({ args: '12345678' });
    expect(ended).toMatchObject({ leftOut: { result: 'longer than 10 bytes' } });
  });
});

describe('The options of an audit log', () => {
  it.each<[string, unknown, RegExp]>([
    ['one that nobody knows', { capure: {} }, /There is no option "capure" of an audit log/],
    [
      'a capture that nobody knows',
      { capture: { arguments: true } },
      /There is no option "arguments" of capture/,
    ],
    ['a capture that is no yes or no', { capture: { args: 'yes' } }, /capture\.args must be true or false/],
    ['a redact that is none', { redact: 'all' }, /redact must be a function/],
    ['an onError that there is not', { onError: 'stop' }, /onError must be 'continue' or 'refuse'/],
    ['permissions as a text', { mode: '600' }, /mode must be permissions as in 0o600/],
    ['files that are too small', { maxBytes: 10 }, /maxBytes must be a whole number of 1024 or more/],
    ['no file to keep', { keep: 0 }, /keep must be a whole number of 1 or more/],
    [
      'a short key',
      { chain: { key: 'k' } },
      /chain\.key must be a secret text or Uint8Array of 16 bytes or more, got 1/,
    ],
    [
      'what is for a stream',
      { maxBuffered: 10 },
      /maxBuffered must be absent: it is for a log that is written to a stream/,
    ],
  ])('are refused: %s', (_, options, message) => {
    expect(() => auditLog(newPath(), options as AuditLogOptions)).toThrow(message);
  });

  it('refuse a target that is neither a path nor a stream, and a path that cannot be opened', () => {
    expect(() => auditLog(7 as never)).toThrow(/target must be the path of a file, or a stream/);
    expect(() => auditLog('')).toThrow(/target must be the path of a file, or a stream/);
    expect(() => auditLog('/nowhere/runs.jsonl')).toThrow(
      expect.objectContaining({
        code: 'file-unwritable',
        message: expect.stringContaining(
          '/nowhere/runs.jsonl cannot be opened: the folder that it is to be in is not there',
        ),
      }),
    );
  });

  it('refuse a log that was begun otherwise', async () => {
    const chained = newPath();
    await logged(chained, { chain: true });
    const plain = newPath();
    await logged(plain);
    const mismatch = expect.objectContaining({ code: 'log-mismatch' });
    expect(() => auditLog(chained)).toThrow(mismatch);
    expect(() => auditLog(chained, { chain: { key: 'a key of 16 bytes' } })).toThrow(mismatch);
    expect(() => auditLog(plain, { chain: true })).toThrow(mismatch);
    const lines = readFileSync(chained, 'utf8').trimEnd().split('\n');
    lines[lines.length - 1] = String(lines.at(-1)).replace('log.closed', 'log.opened');
    writeFileSync(chained, `${lines.join('\n')}\n`);
    expect(() => auditLog(chained, { chain: true })).toThrow(/its last record was changed/);
  });
});

describe('An audit log that calls depend on', () => {
  it('refuses a call that cannot be logged, and lets it go on when it can be again', async () => {
    const log = auditLog(newPath(), { onError: 'refuse', onFault: () => {} });
    const enforcement = createEnforcement();
    enforcement.on(log);
    const run = enforcement.beginRun();
    await run.callTool('search', {}, () => {});
    const before = run.state;
    await log.close();
    const refusal = await refusalOf(run.callTool('search', {}, () => {}));
    expect(refusal).toMatchObject({ code: 'observer-failed' });
    expect(refusal.message).toContain('it was closed');
    expect(run.state).toEqual(before);
  });
});
