import { newToken } from '../../inspect/access.ts';
import { readAddress } from '../../inspect/address.ts';
import { readPage } from '../../inspect/page-files.ts';
import { type InspectServer, serve } from '../../inspect/server.ts';
import { RunStore } from '../../inspect/store.ts';
import type { TraceStream } from '../../replay/index.ts';
import type { InspectFlags } from '../commands/inspect.ts';
import { EXIT } from '../exit.ts';
import { FaultPrinter } from '../faults.ts';
import { findInputs } from '../inputs.ts';
import { type Io, paintOn, writeLine } from '../io.ts';
import { formatNamed, replayConfigFrom } from '../options.ts';
import { Progress } from '../progress.ts';
import { count } from '../text.ts';
import { showFiles } from './show-files.ts';
import { toStately } from './to-stately.ts';

const DEFAULT_PORT = 4983;

/**
 * `phasegate inspect`.
 *
 * @returns The exit code, once the user interrupts it.
 */
export async function runInspect(names: readonly string[], flags: InspectFlags, io: Io): Promise<number> {
  const given = io.env.PHASEGATE_INSPECT || undefined;
  const address = given === undefined ? undefined : readAddress('PHASEGATE_INSPECT', given);
  const config = await replayConfigFrom(flags, io);
  const format = await formatNamed(flags.format);
  const page = await readPage();
  const inputs = await findInputs(names, io);
  const stately = flags.stately === undefined ? undefined : await toStately(flags.stately);
  const store = new RunStore(flags.keep * 2 ** 20, stately?.take);
  const server = await serve({
    store,
    page,
    port: flags.port ?? address?.port ?? DEFAULT_PORT,
    token: address?.token ?? newToken(),
    title: titleOf(inputs.files),
    live: true,
  });
  try {
    await tellAddress(server, flags, io);
    const progress = new Progress(io, inputs.bytes);
    const faults = new FaultPrinter(io, () => progress.clear());
    const onFault: typeof faults.tell = (fault) => {
      faults.tell(fault);
      store.fault(fault);
    };
    for (const fault of inputs.faults) onFault(fault);
    const shown = showFiles(inputs.files, { store, config, format, signal: io.signal, progress, onFault });
    const follow = await shown.finally(() => progress.end());
    faults.end();
    if (names.length > 0 && flags.json !== true) {
      await tellShown(inputs.files, store.runs.size, io);
    }
    await follow();
  } finally {
    await server.close();
    await stately?.close();
  }
  return EXIT.interrupted;
}

async function tellAddress({ url, port }: InspectServer, { json }: InspectFlags, io: Io): Promise<void> {
  if (json === true) return writeLine(io.stdout, JSON.stringify({ url, port }));
  const paint = paintOn(io.stdout, io.env);
  const lines = [
    `${paint('bold', 'Runs are shown at')} ${paint('cyan', url)}`,
    '',
    'A process streams to it with:',
    "  import { inspectTo } from 'phasegate/inspect';",
    `  enforcement.on(inspectTo('${url}'));`,
    '',
    'Ctrl-C ends it.',
  ];
  for (const line of lines) await writeLine(io.stdout, line);
}

// A stream has said nothing yet: what comes of it is for the page to say.
async function tellShown(inputs: readonly (string | TraceStream)[], runs: number, io: Io): Promise<void> {
  const streams = inputs.filter((input) => typeof input !== 'string');
  const files = inputs.length - streams.length;
  if (files > 0 || streams.length === 0) {
    await writeLine(io.stdout, `${count(runs, 'run')} from ${count(files, 'file')}`);
  }
  for (const { name } of streams) await writeLine(io.stdout, `${name} is shown as it comes`);
}

function titleOf(files: readonly (string | TraceStream)[]): string {
  const names = files.map((file) => (typeof file === 'string' ? file : file.name));
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}
