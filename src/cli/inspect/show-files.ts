import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { type TidyEvent, tidyEvent } from '../../inspect/tidy-event.ts';
import { driveFiles } from '../../replay/drive-files.ts';
import { Driver } from '../../replay/driver.ts';
import { lookAhead } from '../../replay/head.ts';
import type { TraceFormat, TraceStream } from '../../replay/index.ts';
import { drivable } from '../../replay/replay.ts';
import { untilInterrupted } from '../interruption.ts';
import { OwnFile } from './own-file.ts';
import { isOwn, type LinesOptions, OwnLines } from './own-lines.ts';

/** How files are shown. */
export interface ShowOptions extends Omit<LinesOptions, 'logs'> {
  /** What recordings of other formats are put to. */
  readonly config: Config;
  /** The format of all files; `undefined` for each as its content says. */
  readonly format: TraceFormat | undefined;
  readonly signal: AbortSignal;
}

const HEAD_BYTES = 64 * 1024;
const LOOK_MS = 500;

/**
 * Shows recordings: our own as they were recorded, others as the configuration decides on them.
 *
 * @returns What follows our own as they grow, and reads what are no files, until the signal is aborted.
 */
export async function showFiles(
  files: readonly (string | TraceStream)[],
  options: ShowOptions,
): Promise<() => Promise<void>> {
  const { format, signal } = options;
  const mayBeOwn = format === undefined || format.name === 'phasegate';
  const logs: LinesOptions['logs'] = new Map();
  const followed: OwnFile[] = [];
  const streams: TraceStream[] = [];
  for (const file of files) {
    if (signal.aborted) break;
    if (typeof file !== 'string') {
      streams.push(file);
    } else if (mayBeOwn && mayBecomeOwn(await headOf(file))) {
      const own = new OwnFile(file, { ...options, logs });
      await own.readOn(signal);
      followed.push(own);
    } else {
      await replayFile(file, options);
    }
  }
  return async () => {
    const shown = streams.map((stream) => showStream(stream, mayBeOwn, { ...options, logs }));
    await Promise.all([...shown, followAll(followed, signal)]);
  };
}

/** Looks at the files again and again. */
async function followAll(files: readonly OwnFile[], signal: AbortSignal): Promise<void> {
  for (let pause = LOOK_MS; !signal.aborted; ) {
    await sleep(pause, undefined, { signal }).catch(() => {});
    const began = performance.now();
    // One that is gone at present may come again.
    for (const file of files) await file.readOn(signal).catch(() => {});
    // Of thousands of files it takes some time only to ask.
    pause = Math.max(LOOK_MS, 10 * (performance.now() - began));
  }
  for (const file of files) await file.close();
}

async function showStream(
  { name, bytes }: TraceStream,
  mayBeOwn: boolean,
  options: ShowOptions & LinesOptions,
): Promise<void> {
  const { head, bytes: whole } = await lookAhead(bytes, 1);
  if (!mayBeOwn || !isOwn(head)) return replayFile({ name, bytes: whole }, options);
  const lines = new OwnLines(name, options);
  for await (const chunk of whole) lines.push(chunk);
  lines.pause();
}

async function replayFile(file: string | TraceStream, options: ShowOptions): Promise<void> {
  const { store, config, format, signal, progress } = options;
  const reading = {
    format,
    onFault: options.onFault,
    onProgress: (bytes: number) => progress.addBytes(bytes),
  };
  const driversFor: Parameters<typeof driveFiles>[1] = (recording) => {
    const driven = drivable({ config });
    const source = store.addSource(recording.file, 'order');
    let order = 0;
    // What a replay takes says nothing of what the recorded run took.
    const times = () => ({ time: order++, waitedMs: null, decisionMs: null });
    driven.enforcement.on((event) => store.take(source, tidyEvent({ ...event, ...times() }) as TidyEvent));
    return [new Driver({ ...driven, ...recording, all: true })];
  };
  for await (const drivers of driveFiles(
    { ...reading, files: untilInterrupted([file], signal) },
    driversFor,
  )) {
    for (const driver of drivers) for (const { calls } of driver.take()) progress.addRun(calls);
  }
}

// Of those that grow, only ours are followed: so one that is empty is a log that nobody has written to yet.
function mayBecomeOwn(head: Uint8Array | undefined): boolean {
  return head !== undefined && (head.length === 0 || isOwn(head));
}

// What cannot be read has no head; why, it says when it is read.
async function headOf(path: string): Promise<Uint8Array | undefined> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
