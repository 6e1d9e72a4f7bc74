import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { isCount } from '../decide.ts';
import { invalidArgument } from '../errors.ts';
import type { RunStarted } from '../events.ts';
import { checkOptions } from '../options.ts';

/** Where traces and metrics go, and what is in them. */
export interface OtelOptions {
  /**
   * Makes the spans.
   * @default the global one, as `trace.setGlobalTracerProvider` or an SDK sets it
   */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Makes the metrics.
   * @default the global one, at the first event that there is
   */
  readonly meterProvider?: MeterProvider | undefined;
  /** The name of the agent (`gen_ai.agent.name`), or a function that knows that of a run: few names, the same again and again. */
  readonly agentName?: string | ((run: RunStarted) => string | undefined) | undefined;
  /** Knows which conversation a run belongs to (`gen_ai.conversation.id`). */
  readonly conversationId?: ((run: RunStarted) => string | undefined) | undefined;
  /**
   * Whether spans carry what tools are called with (`gen_ai.tool.call.arguments`, as JSON, the first 8192 characters), which may be
   * private. A function answers with what may be seen of it; `undefined` for nothing.
   * @default false
   */
  readonly captureArguments?: boolean | ((args: unknown, tool: string) => unknown) | undefined;
  /**
   * How many names of tools metrics tell apart, and as many codes of checks and names of agents; the rest is `_other`. A
   * whole number of 0 or more, or `Infinity`.
   * @default 100
   */
  readonly maxNames?: number | undefined;
}

/** The options, checked. */
export interface Settings {
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  readonly agentName: (run: RunStarted) => string | undefined;
  readonly conversationId: (run: RunStarted) => string | undefined;
  /** What may be seen of arguments, as JSON; `undefined` for nothing. */
  readonly argumentsShown: (args: unknown, tool: string) => string | undefined;
  readonly maxNames: number;
}

const OPTIONS = [
  'tracerProvider',
  'meterProvider',
  'agentName',
  'conversationId',
  'captureArguments',
  'maxNames',
] as const satisfies readonly (keyof OtelOptions)[];

/**
 * Checks the options.
 *
 * @throws {PhasegateError} `invalid-argument`.
 */
export function readSettings(options: OtelOptions): Settings {
  checkOptions('otel', options, OPTIONS);
  const { tracerProvider, meterProvider, agentName, conversationId } = options;
  const { captureArguments = false, maxNames = 100 } = options;
  if (tracerProvider !== undefined && typeof tracerProvider?.getTracer !== 'function') {
    throw invalidArgument('tracerProvider', 'a TracerProvider', tracerProvider);
  }
  if (meterProvider !== undefined && typeof meterProvider?.getMeter !== 'function') {
    throw invalidArgument('meterProvider', 'a MeterProvider', meterProvider);
  }
  if (!['undefined', 'string', 'function'].includes(typeof agentName)) {
    throw invalidArgument('agentName', 'a string or a function', agentName);
  }
  if (conversationId !== undefined && typeof conversationId !== 'function') {
    throw invalidArgument('conversationId', 'a function', conversationId);
  }
  if (typeof captureArguments !== 'boolean' && typeof captureArguments !== 'function') {
    throw invalidArgument('captureArguments', 'true, false or a function', captureArguments);
  }
  if (!isCount(maxNames))
    throw invalidArgument('maxNames', 'a whole number of 0 or more, or Infinity', maxNames);
  const nameOf = typeof agentName === 'function' ? agentName : () => agentName;
  const shownOf = typeof captureArguments === 'function' ? captureArguments : (args: unknown) => args;
  return {
    tracerProvider,
    meterProvider,
    agentName: (run) => textOf(() => nameOf(run)),
    conversationId: (run) => textOf(() => conversationId?.(run)),
    argumentsShown: (args, tool) =>
      captureArguments === false ? undefined : textOf(() => JSON.stringify(shownOf(args, tool))),
    maxNames,
  };
}

/** What was asked for, if it is a text. A run is not to lose its trace to a function of the user's that throws. */
function textOf(ask: () => unknown): string | undefined {
  try {
    const answer = ask();
    return typeof answer === 'string' ? answer : undefined;
  } catch {
    return undefined;
  }
}
