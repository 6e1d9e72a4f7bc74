import { createEnforcement } from '../../enforcement.ts';
import { type RunReport, replay } from '../../replay/index.ts';
import type { ReplayFlags } from '../commands/replay.ts';
import { EXIT } from '../exit.ts';
import { FaultPrinter } from '../faults.ts';
import { findInputs } from '../inputs.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Io, writeLine } from '../io.ts';
import { formatNamed, replayConfigFrom } from '../options.ts';
import { Progress } from '../progress.ts';
import { Summary } from './summary.ts';

/**
 * `phasegate replay`.
 *
 * @returns The exit code.
 */
export async function runReplay(names: readonly string[], flags: ReplayFlags, io: Io): Promise<number> {
  const config = await replayConfigFrom(flags, io);
  const { rules } = createEnforcement({ config }).supervisor;
  const enforced = config.enabledChecks?.includes('dfa') ?? true;
  const all = flags.all === true;
  const format = await formatNamed(flags.format);
  const inputs = await findInputs(names, io);
  const progress = new Progress(io, inputs.bytes);
  const faults = new FaultPrinter(io, () => progress.clear());
  const summary = flags.json === true ? undefined : new Summary(io, { rules, enforced, all });
  let refused = false;
  try {
    for (const fault of inputs.faults) faults.tell(fault);
    const reports = replay({
      files: untilInterrupted(inputs.files, io.signal),
      enforcement: { config },
      format,
      all,
      onProgress: (bytes) => progress.addBytes(bytes),
      onFault: (fault) => faults.tell(fault),
    });
    for await (const report of reports) {
      refused ||= report.verdict !== 'allowed';
      progress.addRun(report.calls);
      const lines = summary?.add(report) ?? [jsonOf(report, all)];
      if (lines.length > 0) progress.clear();
      for (const line of lines) await writeLine(io.stdout, line);
    }
  } finally {
    progress.end();
    faults.end();
    const interrupted = io.signal.aborted;
    const last = summary?.end(faults.total, interrupted) ?? endOfJson(interrupted);
    for (const line of last) await writeLine(io.stdout, line);
  }
  if (io.signal.aborted) return EXIT.interrupted;
  if (faults.total > 0) return EXIT.usage;
  return refused ? EXIT.refused : EXIT.ok;
}

function endOfJson(interrupted: boolean): string[] {
  return interrupted ? [JSON.stringify({ interrupted })] : [];
}

function jsonOf(report: RunReport, all: boolean): string {
  const { file, index, run, calls, failed, verdict, firstRefusal, stepCount } = report;
  const first =
    firstRefusal === null
      ? null
      : (({ seq, tool, callId, code, message }) => ({ seq, tool, callId, code, message }))(firstRefusal);
  const counted = all ? { refused: report.refused } : {};
  return JSON.stringify({
    file,
    index,
    run,
    calls,
    failed,
    verdict,
    firstRefusal: first,
    stepCount,
    ...counted,
  });
}
