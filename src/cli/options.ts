import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../config.ts';
import { PhasegateError } from '../errors.ts';
import { FORMATS, type TraceFormat } from '../replay/index.ts';
import { type Io, paintOn } from './io.ts';
import { printable } from './text.ts';

/** The configuration of a file, or none, with the budgets that were given besides. */
export async function configFrom(options: {
  readonly config?: string | undefined;
  readonly maxSteps?: number | undefined;
  readonly maxLoops?: number | undefined;
}): Promise<Config> {
  const { loadConfig } = await import('../load-config.ts');
  const config = options.config === undefined ? {} : await loadConfig(options.config);
  const budget = config.agentProfile?.resourceBudget;
  const resourceBudget = {
    maxSteps: options.maxSteps ?? budget?.maxSteps,
    maxLoopsPerPhase: options.maxLoops ?? budget?.maxLoopsPerPhase,
  };
  return { ...config, agentProfile: { ...config.agentProfile, resourceBudget } };
}

/**
 * The configuration without the checks that a program brings: they are code, and a recording is replayed without it. Says so
 * on standard error.
 */
export async function replayConfigFrom(options: Parameters<typeof configFrom>[0], io: Io): Promise<Config> {
  const config = await configFrom(options);
  const own = config.enabledChecks?.filter((name) => name !== 'dfa') ?? [];
  if (own.length === 0) return config;
  const names = own.map((name) => printable(JSON.stringify(name))).join(', ');
  io.stderr.write(
    `${paintOn(io.stderr, io.env)('yellow', 'note')}: enabledChecks names ${names}, which only your program has: replayed without\n`,
  );
  return { ...config, enabledChecks: config.enabledChecks?.filter((name) => name === 'dfa') };
}

/** The format of that name, or the module at that path; `undefined` for `auto`. */
export async function formatNamed(name: string): Promise<TraceFormat | undefined> {
  if (name === 'auto') return undefined;
  const known = FORMATS.find((format) => format.name === name);
  if (known !== undefined) return known;
  if (!/[/\\]|\.[cm]?[jt]s$/.test(name)) {
    const names = ['auto', ...FORMATS.map((format) => format.name)].join(', ');
    throw new PhasegateError(
      'unknown-format',
      `There is no format ${JSON.stringify(name)}. There are: ${names}; or the path of a module, as in ./mine.mjs`,
    );
  }
  return loadFormat(name);
}

async function loadFormat(path: string): Promise<TraceFormat> {
  let module: { readonly default?: Partial<TraceFormat> };
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new PhasegateError('format-unreadable', `${path} cannot be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const format = module.default;
  if (typeof format?.read !== 'function' || typeof format.name !== 'string') {
    throw new PhasegateError(
      'invalid-format',
      `${path} must export a format as its default: an object with a name and a function read`,
    );
  }
  return format as TraceFormat;
}
