import { type TuneReport, tune } from '../../replay/index.ts';
import type { TuneFlags } from '../commands/tune.ts';
import { EXIT } from '../exit.ts';
import { FaultPrinter } from '../faults.ts';
import { findInputs } from '../inputs.ts';
import { INTERRUPTED, untilInterrupted } from '../interruption.ts';
import { type Io, paintOn, widthOf, writeLine } from '../io.ts';
import { formatNamed, replayConfigFrom } from '../options.ts';
import { Progress } from '../progress.ts';
import { tuneText } from './text.ts';

/**
 * `phasegate tune`.
 *
 * @returns The exit code: it asks no question that could be answered with `refused`.
 */
export async function runTune(names: readonly string[], flags: TuneFlags, io: Io): Promise<number> {
  const config = await replayConfigFrom(flags, io);
  const format = await formatNamed(flags.format);
  const inputs = await findInputs(names, io);
  const progress = new Progress(io, inputs.bytes);
  const faults = new FaultPrinter(io, () => progress.clear());
  let report: TuneReport;
  try {
    for (const fault of inputs.faults) faults.tell(fault);
    report = await tune({
      files: untilInterrupted(inputs.files, io.signal),
      config,
      format,
      steps: flags.steps,
      loops: flags.loops,
      onProgress: (bytes) => progress.addBytes(bytes),
      onFault: (fault) => faults.tell(fault),
    });
  } finally {
    progress.end();
    faults.end();
  }
  for (const line of linesOf(report, flags, io)) await writeLine(io.stdout, line);
  if (io.signal.aborted) return EXIT.interrupted;
  return faults.total > 0 ? EXIT.usage : EXIT.ok;
}

function linesOf(report: TuneReport, flags: TuneFlags, io: Io): string[] {
  const interrupted = io.signal.aborted;
  if (flags.json === true) return [JSON.stringify(interrupted ? { ...report, interrupted } : report)];
  const paint = paintOn(io.stdout, io.env);
  const lines = tuneText(report, paint, Math.min(100, widthOf(io.stdout)));
  return interrupted ? [...lines, paint('yellow', INTERRUPTED)] : lines;
}
