import { readFile } from 'node:fs/promises';
import { type AuditFault, type AuditReport, verifyAudit } from '../../audit/index.ts';
import { describe, messageOf } from '../../describe.ts';
import { PhasegateError } from '../../errors.ts';
import { unreadableBecause } from '../../load-config.ts';
import type { TraceStream } from '../../replay/index.ts';
import type { AuditVerifyFlags } from '../commands/audit.ts';
import { EXIT } from '../exit.ts';
import { FaultPrinter } from '../faults.ts';
import { findInputs } from '../inputs.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Io, type Paint, paintOn, widthOf, writeLine } from '../io.ts';
import { Progress } from '../progress.ts';
import { count, printable, wrap } from '../text.ts';

// A log that was written anew has a fault on every line.
const SHOWN = 20;

/**
 * `phasegate audit verify`.
 *
 * @returns The exit code.
 */
export async function runAuditVerify(
  names: readonly string[],
  flags: AuditVerifyFlags,
  io: Io,
): Promise<number> {
  const { expectHead } = flags;
  if (expectHead !== undefined && !/^[0-9a-f]{64}$/.test(expectHead)) {
    throw new PhasegateError(
      'invalid-argument',
      `--expect-head must be a hash: 64 hexadecimal digits in lower case, got ${describe(expectHead)}`,
    );
  }
  const key = flags.keyFile === undefined ? undefined : await readKey(flags.keyFile);
  const inputs = await findInputs(names, io);
  const progress = new Progress(io, inputs.bytes);
  const missing = new FaultPrinter(io, () => progress.clear());
  const faults: AuditFault[] = [];
  let reports: AuditReport[];
  try {
    for (const fault of inputs.faults) missing.tell(fault);
    reports = await verifyAudit({
      files: readable(untilInterrupted(inputs.files, io.signal), missing),
      key,
      expectHead,
      signal: io.signal,
      onProgress(bytes, records) {
        progress.addBytes(bytes);
        progress.addRecords(records);
      },
      onFault: (fault) => {
        if (faults.length < SHOWN || flags.json === true) faults.push(fault);
      },
    });
  } finally {
    progress.end();
    missing.end();
  }
  const interrupted = io.signal.aborted;
  for (const line of flags.json === true
    ? jsonOf(reports, faults, interrupted)
    : textOf(reports, faults, io)) {
    await writeLine(io.stdout, line);
  }
  if (interrupted) return EXIT.interrupted;
  if (missing.total > 0) return EXIT.usage;
  return reports.some((report) => report.faults > 0) ? EXIT.refused : EXIT.ok;
}

async function readKey(path: string): Promise<Uint8Array> {
  const name = printable(path);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const message = `The key ${name} cannot be read: ${unreadableBecause(error)}`;
    throw new PhasegateError('file-unreadable', message, { cause: error });
  });
  // An editor ends the last line.
  const key = bytes.at(-1) === 10 ? bytes.subarray(0, bytes.at(-2) === 13 ? -2 : -1) : bytes;
  // No log is written with an empty key, and each record would seem edited.
  if (key.length === 0)
    throw new PhasegateError('file-unreadable', `The key ${name} is empty. Name the file that holds it`);
  return key;
}

/** The files that can be read, so that the others do not keep these from being verified. */
async function* readable(
  files: AsyncIterable<TraceStream>,
  missing: FaultPrinter,
): AsyncGenerator<TraceStream> {
  for await (const { name, bytes } of files) {
    const pieces = bytes[Symbol.asyncIterator]();
    try {
      const first = await pieces.next();
      yield { name, bytes: piecesFrom(first, pieces) };
    } catch (error) {
      missing.tell({ file: name, line: null, message: messageOf(error) });
    }
  }
}

async function* piecesFrom(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function jsonOf(
  reports: readonly AuditReport[],
  faults: readonly AuditFault[],
  interrupted: boolean,
): string[] {
  const lines = reports.map((report) => {
    const own = faults.filter(({ file }) => report.files.includes(file));
    return JSON.stringify({ ...report, faults: own });
  });
  return interrupted ? [...lines, JSON.stringify({ interrupted })] : lines;
}

function textOf(reports: readonly AuditReport[], faults: readonly AuditFault[], io: Io): string[] {
  const paint = paintOn(io.stdout, io.env);
  const interrupted = io.signal.aborted ? ['interrupted: this is what was read until then'] : [];
  if (reports.length === 0) return interrupted;
  const total = reports.reduce((sum, report) => sum + report.faults, 0);
  return [
    ...reports.flatMap((report) => reportLines(report, paint)),
    ...faults.map((fault) => faultLine(fault, paint)),
    ...(total > faults.length ? [`  and ${total - faults.length} more`] : []),
    '',
    ...wrap(limits(reports), widthOf(io.stdout), '').map((line) => paint('dim', line)),
    ...interrupted,
  ];
}

function reportLines(
  { files, records, first, head, lost, cut, closed, faults }: AuditReport,
  paint: Paint,
): string[] {
  const name = files.length === 1 ? files[0] : `${files[0]} and ${count(files.length - 1, 'file')} more`;
  const mark = faults === 0 ? paint('green', '✓') : paint('red', '✗');
  const verdict = faults === 0 ? 'every one as it was written' : count(faults, 'fault');
  return [
    `${mark} ${printable(String(name))}: ${count(records, 'record')}, ${verdict}`,
    ...(head === null ? [] : [`    last hash  ${head.hash} (record ${head.n})`]),
    ...(first > 1 ? [`    begins with record ${first}: the files before are not among these`] : []),
    ...(lost > 0 ? [`    ${count(lost, 'record')} could not be written, as the log says`] : []),
    ...(cut > 0 ? [`    ${count(cut, 'line was', 'lines were')} cut, as by a crash or a full disk`] : []),
    ...(closed || head === null
      ? []
      : ['    not closed: it is being written, its process died, or its end was cut off']),
  ];
}

function faultLine({ file, line, kind, message }: AuditFault, paint: Paint): string {
  const where = printable(line === null ? file : `${file}:${line}`);
  return `  ${paint('red', kind)}  ${where}  ${message}`;
}

/** What is not proved, said each time: who reads only the tick would take it for more. */
function limits(reports: readonly AuditReport[]): string {
  const who = reports.every(({ keyed }) => keyed)
    ? 'somebody who has the key'
    : 'somebody who can write the file';
  return (
    `This does not show that the end was cut off, nor that ${who} wrote all of it anew. ` +
    'Keep the last hash elsewhere, and give it with --expect-head.'
  );
}
