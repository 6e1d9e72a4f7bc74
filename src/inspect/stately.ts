/**
 * The runs of other processes, in the Stately Inspector: each is mirrored as an XState actor that is put where the events say.
 */
import { request as askPlain } from 'node:http';
import { request as askTls } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../describe.ts';
import { invalidArgument, PhasegateError } from '../errors.ts';
import type { PhasegateEvent, RunStarted } from '../events.ts';
import type { Inspect } from '../inspection.ts';
import { checkOptions } from '../options.ts';
import { isTerminal, type Phase, type Transition } from '../phases.ts';
import { RunActor, type Standing } from '../run-actor.ts';
import { createSupervisor, type Supervisor } from '../supervisor.ts';

/** How runs are mirrored. */
export interface StatelyOptions {
  /**
   * Where one of Stately's tools listens, as `ws:` or `wss:`.
   * @default 'ws://localhost:8080'
   */
  readonly url?: string | undefined;
}

/** Shows runs in the Stately Inspector. */
export interface StatelyMirror {
  /** Takes the next event of the stream. What is no event of a run that can be shown is left out. */
  take(event: PhasegateEvent): void;
  /** Sends what was taken, and ends the connection. */
  close(): Promise<void>;
}

const OPTIONS = ['url'] as const satisfies readonly (keyof StatelyOptions)[];
const DEFAULT_URL = 'ws://localhost:8080';
const ANSWER_WITHIN_MS = 5_000;
const NO_ANSWER = `no answer within ${ANSWER_WITHIN_MS} ms`;
const LOOK_EVERY_MS = 5;
const MACHINES_KEPT = 100;

/**
 * Connects to one of Stately's tools, and shows there the runs whose events it is given.
 *
 * @throws {PhasegateError} (rejects) `missing-dependency` where `@statelyai/inspect` is not installed;
 *   `stately-unreachable` where no WebSocket server answers at the address; `invalid-argument`.
 * @example
 * const mirror = await mirrorToStately({ url: 'ws://localhost:8080' });
 * for await (const event of events) mirror.take(event);
 * await mirror.close();
 */
export async function mirrorToStately(options: StatelyOptions = {}): Promise<StatelyMirror> {
  checkOptions('a mirror', options, OPTIONS);
  const { url: text = DEFAULT_URL } = options;
  const url = addressOf(text);
  const { createWebSocketInspector } = await loadInspect();
  // The inspector tries for ever and says nothing: a slip in the address would be an empty page.
  await reach(url);
  const inspector = createWebSocketInspector({ url: url.href });
  await connected(inspector, url);
  const runs = new MirroredRuns(inspector.inspect);
  return {
    take: (event) => runs.take(event),
    async close() {
      // The inspector sends each event from a timer of its own.
      await pause(0);
      inspector.stop();
    },
  };
}

function addressOf(text: string): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'ws:' && url?.protocol !== 'wss:')
    throw invalidArgument('url', 'an address of a WebSocket server, such as ws://localhost:8080', text);
  return url;
}

type StatelyPackage = typeof import('@statelyai/inspect');

async function loadInspect(): Promise<StatelyPackage> {
  try {
    return await import('@statelyai/inspect');
  } catch (error) {
    if (!/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
    throw new PhasegateError(
      'missing-dependency',
      'Runs are shown to Stately’s tools by @statelyai/inspect, an optional dependency that is not installed. ' +
        'Install it with: npm install @statelyai/inspect',
      { cause: error },
    );
  }
}

/** @throws {PhasegateError} (rejects) `stately-unreachable`. */
async function reach(url: URL): Promise<void> {
  const fault = await faultOf(url);
  if (fault !== undefined) throw unreachable(url, fault);
}

/** Waits for the connection. Before it is there the inspector keeps no more than its latest events, and cannot be stopped. */
async function connected(
  { adapter }: ReturnType<StatelyPackage['createWebSocketInspector']>,
  url: URL,
): Promise<void> {
  for (let waited = 0; adapter['status'] !== 'open'; waited += LOOK_EVERY_MS) {
    if (waited >= ANSWER_WITHIN_MS) throw unreachable(url, NO_ANSWER);
    await pause(LOOK_EVERY_MS);
  }
}

function unreachable(url: URL, fault: string): PhasegateError {
  return new PhasegateError(
    'stately-unreachable',
    `No WebSocket server answers at ${url.href} (${fault}). Start one of Stately’s tools there first, or give its address`,
  );
}

/** Asks for a WebSocket, and hangs up. @returns What is wrong. */
function faultOf(url: URL): Promise<string | undefined> {
  const [ask, protocol] = url.protocol === 'wss:' ? [askTls, 'https:'] : [askPlain, 'http:'];
  const asking = ask(url.href.replace(/^wss?:/, protocol), {
    timeout: ANSWER_WITHIN_MS,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.from('phasegate asking').toString('base64'),
    },
  });
  return new Promise<string | undefined>((resolve) => {
    asking.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve(undefined);
    });
    asking.on('response', ({ statusCode }) => resolve(`it answers with HTTP ${statusCode}`));
    asking.on('timeout', () => resolve(NO_ANSWER));
    asking.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? messageOf(error)));
    asking.end();
  }).finally(() => asking.destroy());
}

/** The runs of a stream, each an actor. */
export class MirroredRuns {
  readonly #inspect: Inspect;
  readonly #runs = new Map<string, MirroredRun>();
  // Building a machine is dear, and most runs have the same.
  readonly #supervisors = new Map<string, Supervisor>();

  constructor(inspect: Inspect) {
    this.#inspect = inspect;
  }

  take(event: PhasegateEvent): void {
    if (event.run === null) return;
    if (event.type === 'run.started') {
      this.#begin(event.run, event);
      return;
    }
    // A stream may begin in the middle of a run. One that has ended is told of still, and moves no more.
    const moves = event.type === 'phase.entered' || event.type === 'call.started';
    const run = this.#runs.get(event.run) ?? (moves ? this.#begin(event.run, UNTOLD) : undefined);
    run?.take(event);
    if (run?.over) this.#runs.delete(event.run);
  }

  #begin(id: string, told: Told): MirroredRun {
    const parent = told.parent === null ? undefined : this.#runs.get(told.parent);
    const run = new MirroredRun(id, this.#supervisorOf(told), parent, told, this.#inspect);
    this.#runs.set(id, run);
    return run;
  }

  #supervisorOf(told: Told): Supervisor {
    const { maxSteps, maxLoopsPerPhase, transitions } = told;
    const key = JSON.stringify([maxSteps, maxLoopsPerPhase, transitions]);
    const known = this.#supervisors.get(key);
    if (known !== undefined) return known;
    const supervisor = supervisorOf(told);
    if (this.#supervisors.size === MACHINES_KEPT) this.#supervisors.clear();
    this.#supervisors.set(key, supervisor);
    return supervisor;
  }
}

/** What a run is told to be when it begins. */
type Told = Pick<
  RunStarted,
  'parent' | 'budget' | 'maxSteps' | 'maxLoopsPerPhase' | 'transitions' | 'resumed'
>;

const UNTOLD: Told = {
  parent: null,
  budget: 'shared',
  maxSteps: null,
  maxLoopsPerPhase: null,
  transitions: null,
  resumed: null,
};

function supervisorOf({ maxSteps, maxLoopsPerPhase, transitions }: Told): Supervisor {
  try {
    return createSupervisor({
      maxSteps: maxSteps ?? Number.POSITIVE_INFINITY,
      maxLoopsPerPhase: maxLoopsPerPhase ?? Number.POSITIVE_INFINITY,
      ...(transitions !== null && {
        phases: Object.keys(transitions),
        transitions: Object.entries(transitions).flatMap(([from, targets]) =>
          targets.map((to): Transition => [from, to]),
        ),
      }),
    });
  } catch {
    // Other processes may say anything.
    return createSupervisor();
  }
}

const BEGIN: Standing = { phase: 'IDLE', stepCount: 0, loopCount: 0, inFlight: 0 };

/** A run as its events tell of it, and its actor. */
class MirroredRun {
  readonly actor: RunActor;
  /** The run around it whose budget its calls count in too. */
  readonly payer: MirroredRun | undefined;
  live = true;
  readonly #phases: readonly Phase[];
  readonly #inFlight = new Set<number>();
  #standing = BEGIN;

  constructor(
    id: string,
    { machine, rules }: Supervisor,
    parent: MirroredRun | undefined,
    { budget, resumed }: Told,
    inspect: Inspect,
  ) {
    const under = parent?.live ? parent.actor : undefined;
    this.#phases = rules.table.phases;
    // Here too other processes may say anything.
    if (Array.isArray(resumed?.calls) && this.#phases.includes(resumed.state?.phase)) this.#resume(resumed);
    const reason = this.live ? null : (resumed?.state.reason ?? null);
    this.actor = new RunActor(machine, rules, this.#standing, reason, { id, under, inspect });
    this.payer = budget === 'own' ? undefined : parent;
  }

  #resume({ state, calls }: NonNullable<Told['resumed']>): void {
    const { phase, stepCount, loopCount, finished } = state;
    for (const { seq } of calls) this.#inFlight.add(seq);
    this.#standing = {
      phase,
      stepCount,
      loopCount: finished ? 0 : (loopCount?.[phase] ?? 0),
      inFlight: calls.length,
    };
    this.live = !finished;
  }

  /** Whether nothing of it can come any more that matters to anyone. */
  get over(): boolean {
    return !this.live && this.#inFlight.size === 0;
  }

  take(event: Exclude<PhasegateEvent, RunStarted>): void {
    const moved = this.#movedBy(event);
    if (moved === undefined) return;
    // A call of a child run that ended well counts in the runs around it too (SPEC §10.2).
    if (event.type === 'call.ended' && event.ok)
      for (let run = this.payer; run !== undefined; run = run.payer) run.#pay();
    this.#show(event, moved, event.type === 'run.ended' ? event.reason : null);
    if (event.type === 'run.ended') this.live = false;
  }

  #movedBy(event: Exclude<PhasegateEvent, RunStarted>): Partial<Standing> | undefined {
    switch (event.type) {
      case 'phase.proposed':
      case 'call.waiting':
        return {};
      case 'phase.entered': {
        // An actor takes nothing more there: the end of the run is told next, with its reason.
        if (isTerminal(event.phase)) return undefined;
        const loopCount = event.phase === event.from ? this.#standing.loopCount + 1 : 0;
        return { phase: event.phase, loopCount };
      }
      case 'call.started':
        this.#inFlight.add(event.seq);
        return { phase: 'ACTING', stepCount: event.stepCount, loopCount: event.loopCount };
      case 'call.refused':
        this.#inFlight.delete(event.seq);
        return {};
      case 'call.ended':
        this.#inFlight.delete(event.seq);
        return { stepCount: event.stepCount };
      case 'run.ended':
        return { phase: event.phase, stepCount: event.stepCount, loopCount: 0 };
      default:
        return undefined;
    }
  }

  #pay(): void {
    this.#show({ type: 'child.succeed' }, { stepCount: this.#standing.stepCount + 1 }, null);
  }

  /** Puts the actor where an event has led. What a call was made with and came to is left out: it may be secret, and of any size. */
  #show(event: Shown, moved: Partial<Standing>, reason: string | null): void {
    const standing = { ...this.#standing, ...moved, inFlight: this.#inFlight.size };
    if (!this.live || !this.#phases.includes(standing.phase)) return;
    this.#standing = standing;
    const { args: _, result: __, ...shown } = event;
    this.actor.follow(shown, standing, reason);
    this.actor.tell();
  }
}

type Shown = { readonly type: string; readonly args?: unknown; readonly result?: unknown };
