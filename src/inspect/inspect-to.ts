import { messageOf } from '../describe.ts';
import { invalidArgument } from '../errors.ts';
import type { PhasegateEvent } from '../events.ts';
import type { Observer } from '../observers.ts';
import { checkOptions } from '../options.ts';
import { readAddress } from './address.ts';
import { Sender } from './sender.ts';
import { snapshot } from './snapshot.ts';

/** How events are sent to `phasegate inspect`. */
export interface InspectOptions {
  /**
   * What the page calls this process: up to 200 characters.
   * @default the name of the program, and its process id
   */
  readonly name?: string | undefined;
  /**
   * Whether the arguments of calls are sent too, cut to what somebody would look at. They may be private.
   * @default false
   */
  readonly capture?: boolean | undefined;
  /**
   * How many events wait while the server is away, 1 or more; then the oldest are dropped, and counted.
   * @default 10000
   */
  readonly maxBuffered?: number | undefined;
}

/** Sends what an enforcement does to `phasegate inspect`. */
export interface InspectObserver extends Observer {
  /** How many events were dropped. */
  readonly dropped: number;
  /** Why nothing gets through at present; `null` when all is well. */
  readonly problem: string | null;
  /** Sends what waits. Resolves when it was taken, or cannot be sent now; it never rejects. */
  flush(): Promise<void>;
  /** The same, and takes no more events: for a program that ends by `process.exit`. */
  close(): Promise<void>;
}

/**
 * Streams what happens in an enforcement to `phasegate inspect`, which shows it. An agent never waits for it: events wait in a
 * bounded buffer, are sent in batches, and again when the server was away. It keeps no process alive, and sends what is
 * left before one ends by itself.
 *
 * @param url The address that `phasegate inspect` prints, with its token.
 * @default the environment variable `PHASEGATE_INSPECT`
 * @throws {PhasegateError} `invalid-argument`.
 * @example
 * enforcement.on(inspectTo('http://127.0.0.1:4983/?token=…'));
 */
export function inspectTo(url?: string | URL, options: InspectOptions = {}): InspectObserver {
  const address =
    url === undefined
      ? readAddress('PHASEGATE_INSPECT', globalThis.process?.env['PHASEGATE_INSPECT'])
      : readAddress('url', url);
  checkOptions('inspectTo', options, OPTIONS);
  const { name = programName(), capture = false, maxBuffered = 10_000 } = options;
  if (typeof name !== 'string' || name === '' || name.length > 200) {
    throw invalidArgument('name', 'a text of 1 to 200 characters', name);
  }
  if (typeof capture !== 'boolean') throw invalidArgument('capture', 'true or false', capture);
  if (!Number.isSafeInteger(maxBuffered) || maxBuffered < 1) {
    throw invalidArgument('maxBuffered', 'a whole number of 1 or more', maxBuffered);
  }
  const sender = new Sender(address, name, maxBuffered);
  return {
    listen: (event) => sender.push(sendable(event, capture)),
    get dropped() {
      return sender.dropped;
    },
    get problem() {
      return sender.problem;
    },
    flush: () => sender.flush(),
    close: () => sender.close(),
  };
}

const OPTIONS = ['name', 'capture', 'maxBuffered'] as const satisfies readonly (keyof InspectOptions)[];

// Without what others hold on to: the event waits, and arguments may be large.
function sendable(event: PhasegateEvent, capture: boolean): object {
  switch (event.type) {
    case 'call.started':
    case 'call.refused':
      return { ...event, args: capture ? snapshot(event.args) : undefined };
    case 'call.ended':
      // What calls came to is told to all observers where one of them asks for it: not this one.
      return { ...event, error: event.ok ? undefined : snapshot(messageOf(event.error)), result: undefined };
    default:
      return event;
  }
}

function programName(): string {
  const { argv = [], pid = 0 } = globalThis.process ?? {};
  const program = argv[1]?.split(/[/\\]/).at(-1) || 'agent';
  return `${program.slice(0, 150)} (${pid})`;
}
