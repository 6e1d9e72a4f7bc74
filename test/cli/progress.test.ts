import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { Progress } from '../../src/cli/progress.ts';

describe('progress', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function ioOf(isTTY: boolean) {
    const written: string[] = [];
    const output = {
      isTTY,
      columns: 60,
      write: (text: string) => written.push(text) > 0,
      once: () => undefined,
    };
    const io: Io = {
      stdin: (async function* () {})(),
      stdout: output,
      stderr: output,
      env: {},
      signal: new AbortController().signal,
    };
    return { io, written };
  }

  it('is a line on the terminal, which gives way to others and is gone at the end', () => {
    const { io, written } = ioOf(true);
    const progress = new Progress(io, 4 * 2 ** 20);
    progress.addBytes(2 ** 20);
    progress.addRun(7);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(written).toEqual(['\r\u001b[K 25%  1.0 MiB  1 runs  7 calls']);
    progress.clear();
    progress.clear();
    expect(written.slice(1)).toEqual(['\r\u001b[K']);
    vi.advanceTimersByTime(200);
    progress.end();
    vi.advanceTimersByTime(2000);
    expect(written).toHaveLength(4);
  });

  it('tells no share of what has no known end', () => {
    const { io, written } = ioOf(true);
    const progress = new Progress(io, undefined);
    vi.advanceTimersByTime(200);
    expect(written).toEqual(['\r\u001b[K0.0 MiB  0 runs  0 calls']);
    progress.end();
  });

  it('is nowhere to be seen but on a terminal', () => {
    const { io, written } = ioOf(false);
    const progress = new Progress(io, 100);
    vi.advanceTimersByTime(1000);
    progress.end();
    expect(written).toEqual([]);
  });
});
