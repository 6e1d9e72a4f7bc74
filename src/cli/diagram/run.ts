import { writeFile } from 'node:fs/promises';
import { supervisorOptions } from '../../config.ts';
import { toDirectedGraph, toMermaid, toSvg, toXStateJson } from '../../diagram/index.ts';
import { PhasegateError } from '../../errors.ts';
import { createSupervisor, type Supervisor } from '../../supervisor.ts';
import type { DiagramFlags } from '../commands/diagram.ts';
import { EXIT } from '../exit.ts';
import { type Io, writeLine } from '../io.ts';
import { configNamed } from '../supervisor.ts';

/**
 * `phasegate diagram`.
 *
 * @returns The exit code.
 */
export async function runDiagram(
  file: string | undefined,
  { config, format, theme, out }: DiagramFlags,
  io: Io,
): Promise<number> {
  const supervisor = await supervisorOf(configNamed(file, config));
  const text = await DRAWN_AS[format ?? formatOf(out)](supervisor, theme);
  if (out === undefined) await writeLine(io.stdout, text.trimEnd());
  else await write(out, text);
  return EXIT.ok;
}

type Draw = (supervisor: Supervisor, theme: DiagramFlags['theme']) => string | Promise<string>;

const DRAWN_AS: Readonly<Record<NonNullable<DiagramFlags['format']>, Draw>> = {
  mermaid: toMermaid,
  svg: (supervisor, theme) => toSvg(supervisor, { theme }),
  json: (supervisor) => `${JSON.stringify(toDirectedGraph(supervisor), null, 2)}\n`,
  xstate: toXStateJson,
};

function formatOf(out: string | undefined): 'mermaid' | 'svg' {
  return out?.toLowerCase().endsWith('.svg') ? 'svg' : 'mermaid';
}

async function supervisorOf(file: string | undefined): Promise<Supervisor> {
  if (file === undefined) return createSupervisor();
  const { loadConfig } = await import('../../load-config.ts');
  return createSupervisor(supervisorOptions(await loadConfig(file)));
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new PhasegateError('file-unwritable', `${path} cannot be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
