import { type TuneReport, tune } from '../../replay/index.ts';
import type { TuneFlags } from '../commands/tune.ts';
import { EXIT } from '../exit.ts';
import { FaultPrinter } from '../faults.ts';
import { findInputs } from '../inputs.ts';
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
      files: inputs.files,
      config,
      format,
      steps: flags.steps,
      loops: flags.loops,
      signal: io.signal,
      onProgress: (bytes) => progress.addBytes(bytes),
      onFault: (fault) => faults.tell(fault),
    });
  } finally {
    progress.end();
    faults.end();
  }
  const lines =
    flags.json === true
      ? [JSON.stringify(report)]
      : tuneText(report, paintOn(io.stdout, io.env), Math.min(100, widthOf(io.stdout)));
  for (const line of lines) await writeLine(io.stdout, line);
  return faults.total > 0 ? EXIT.usage : EXIT.ok;
}
