import { createWriteStream, readFileSync } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { type AuditLogOptions, auditLog, verifyAudit } from '../../src/audit/index.ts';
import { createEnforcement } from '../../src/index.ts';
import { flush, refusalOf } from '../core/helpers.ts';
import { newPath, recordsIn, sink } from './support.ts';

function logging(stream: Writable, options: AuditLogOptions = {}) {
  const faults: Error[] = [];
  const log = auditLog(stream, { onFault: (error) => faults.push(error), ...options });
  const enforcement = createEnforcement();
  enforcement.on(log);
  return { log, enforcement, faults };
}

/** A stream that takes nothing until it is let. */
function blocked(): { stream: Writable; text(): string; release(): void } {
  const pieces: Buffer[] = [];
  let open = false;
  let waiting: (() => void) | undefined;
  const stream = new Writable({
    write(piece: Buffer, _, done) {
      pieces.push(piece);
      if (open) done();
      else waiting = done;
    },
  });
  return {
    stream,
    text: () => Buffer.concat(pieces).toString(),
    release() {
      open = true;
      waiting?.();
    },
  };
}

describe('A log to a stream', () => {
  it('is whole when it is closed, and leaves the stream open', async () => {
    const path = newPath();
    const stream = createWriteStream(path);
    const { log, enforcement } = logging(stream, { chain: true });
    await enforcement.withRun((run) => run.callTool('search', {}, () => {}));
    await log.close();
    const [report] = await verifyAudit({ files: [path] });
    expect(report).toMatchObject({ records: 10, closed: true, faults: 0 });
    expect(stream.writable).toBe(true);
    stream.end('more\n');
    await finished(stream);
    expect(readFileSync(path, 'utf8')).toMatch(/more\n$/);
  });

  it('loses what does not fit into the buffer, and says so when there is room', async () => {
    const { stream, text, release } = blocked();
    const { log, enforcement, faults } = logging(stream, { chain: true, maxBuffered: 2000 });
    const run = enforcement.beginRun();
    for (let i = 0; i < 20; i++) await run.callTool('search', {}, () => {});
    expect(stream.writableLength).toBeLessThanOrEqual(2000);
    const { lost } = log;
    expect(lost).toBeGreaterThan(0);
    expect(faults.map(({ message }) => message)).toEqual([
      'The audit log to a stream cannot be written, and loses records: 2000 bytes wait in the stream already',
    ]);
    release();
    await flush();
    run.finish();
    await log.close();
    expect(recordsIn(text()).find(({ type }) => type === 'log.gap')).toMatchObject({ lost });
    expect([log.lost, log.fault]).toEqual([lost, null]);
    const bytes = (async function* () {
      yield Buffer.from(text());
    })();
    const [report] = await verifyAudit({ files: [{ name: 'stream', bytes }] });
    expect(report).toMatchObject({ lost, faults: 0 });
  });

  it('counts what a stream had taken that fails, and what comes after, and tells it once', async () => {
    const stream = new Writable({
      write: (_piece, _encoding, done) => setImmediate(done, new Error('gone')),
    });
    const { log, enforcement, faults } = logging(stream);
    await enforcement.withRun((run) => run.callTool('search', {}, () => {}));
    await flush();
    await enforcement.withRun(() => {});
    await flush();
    // With the header, and without a record of its end.
    expect(log.lost).toBe(1 + 8 + 3);
    expect(faults.map(({ message }) => message)).toEqual([
      'The audit log to a stream cannot be written, and loses records: gone',
    ]);
    await log.close();
  });

  it.each(['while it is closed', 'just before'])('ends no process when the stream fails %s', async (when) => {
    const stream = new Writable({
      write: (_piece, _encoding, done) => setImmediate(done, new Error('gone')),
    });
    const { log, enforcement } = logging(stream);
    enforcement.beginRun();
    if (when === 'just before') stream.destroy(new Error('destroyed'));
    await log.close();
    // Where nobody hears of its error, it is thrown now.
    await flush();
    expect(stream.errored).not.toBeNull();
    expect(stream.listenerCount('error')).toBe(1);
  });

  it('leaves nothing behind on a stream that goes on', async () => {
    const { stream } = sink();
    const { log, enforcement } = logging(stream);
    enforcement.beginRun();
    await log.close();
    expect(stream.listenerCount('error')).toBe(0);
  });

  it('is lost when the stream is closed; where that was chosen no call is made then', async () => {
    const stream = new PassThrough();
    const { log, enforcement } = logging(stream, { onError: 'refuse' });
    const run = enforcement.beginRun();
    await run.callTool('search', {}, () => {});
    stream.destroy();
    const refusal = await refusalOf(run.callTool('search', {}, () => {}));
    expect(refusal).toMatchObject({
      code: 'observer-failed',
      message: expect.stringContaining('the stream is closed'),
    });
    expect(log.lost).toBeGreaterThan(0);
  });

  it('tells once that it fails, also whoever ends and begins runs at that', async () => {
    const { stream } = sink();
    const enforcement = createEnforcement();
    let told = 0;
    const onFault = () => {
      told += 1;
      run.abort('nothing is logged');
      enforcement.beginRun();
    };
    const log = auditLog(stream, { onFault, onError: 'refuse' });
    enforcement.on(log);
    const run = enforcement.beginRun();
    stream.destroy();
    const refusal = await refusalOf(run.callTool('search', {}, () => expect.unreachable()));
    expect(refusal.message).toContain('nothing is logged');
    expect(told).toBe(1);
    expect(log.fault).not.toBeNull();
  });

  it('holds what was asked for', async () => {
    const { stream, text } = sink();
    const { enforcement } = logging(stream, { capture: { args: true } });
    await enforcement.withRun((run) => run.callTool('search', { q: 1 }, () => {}));
    expect(text()).toContain('"args":{"q":1}');
  });
});
