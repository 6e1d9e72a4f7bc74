import fc, { type Scheduler } from 'fast-check';
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import {
  type Call,
  type CallRefused,
  type CheckAnswer,
  createEnforcement,
  createMonitor,
  createSupervisor,
  DEFAULT_PHASES,
  DEFAULT_TRANSITIONS,
  type Enforcement,
  isTerminal,
  type Phase,
  type PhaseActor,
  type PhasegateEvent,
  type PhaseMachine,
  type Run,
  ToolExecutionBlocked,
  type Transition,
} from '../../src/index.ts';
import { MirroredRuns } from '../../src/inspect/stately.ts';
import { macrotask, type Outcome, watch } from './helpers.ts';

/** What an agent does: calls with whatever their bodies do, child runs, proposals, ends. */
export type Op =
  | {
      readonly do: 'call';
      /** How its check answers, and whether at once. */
      readonly check: 'allow' | 'refuse' | 'throw' | 'nonsense';
      readonly atOnce: boolean;
      /** Whether the body ends well. */
      readonly ok: boolean;
      /** How the call is made: by the context of its caller, by itself, or by `beforeCall` and `afterCall`. */
      readonly via: 'context' | 'itself' | 'hand';
      /** Whether its caller waits for it. */
      readonly awaited: boolean;
      readonly body: readonly Op[];
      readonly together: boolean;
    }
  | {
      readonly do: 'child';
      readonly budget: 'shared' | 'own';
      readonly end: 'finish' | 'abort' | 'leave';
      readonly body: readonly Op[];
      readonly together: boolean;
    }
  | { readonly do: 'propose'; readonly target: Phase }
  | { readonly do: 'finish' | 'abort' };

export interface Program {
  readonly maxSteps: number;
  readonly maxLoopsPerPhase: number;
  readonly parallel: 'serialize' | 'concurrent';
  readonly onToolError: 'hold' | 'observe';
  readonly onBudgetExhausted: 'deny' | 'terminate';
  readonly onRejected: 'deny' | 'terminate';
  readonly checked: boolean;
  /** After how many events of a run its actor is asked for; never, when it is `null`. */
  readonly actorAfter: number | null;
  /** Whether the enforcement has an inspector, and after how many looks a run gets another; never, when it is `null`. */
  readonly inspected: boolean;
  readonly inspectAfter: number | null;
  /** An observer that calls depend on lets every nth call of a run not start; `null`: there is none. */
  readonly refuses: number | null;
  readonly transitions: readonly Transition[];
  /** One agent for each outermost run, all at once. */
  readonly agents: readonly { readonly body: readonly Op[]; readonly together: boolean }[];
}

const propose: fc.Arbitrary<Op> = fc.record({
  do: fc.constant('propose' as const),
  target: fc.constantFrom('PLANNING', 'ACTING', 'OBSERVING', 'OBSERVING', 'ANSWERING', 'FOO'),
});

const end: fc.Arbitrary<Op> = fc.record({ do: fc.constantFrom('finish' as const, 'abort' as const) });

/** What is done in a body; `levels` deep. */
function ops(levels: number): fc.Arbitrary<readonly Op[]> {
  const body = levels === 0 ? fc.constant([]) : ops(levels - 1);
  const call: fc.Arbitrary<Op> = fc.record({
    do: fc.constant('call' as const),
    check: often(
      fc.constant('allow' as const),
      fc.constantFrom('refuse' as const, 'throw' as const, 'nonsense' as const),
    ),
    atOnce: fc.boolean(),
    ok: often(fc.constant(true), fc.constant(false)),
    via: fc.constantFrom('context' as const, 'itself' as const, 'hand' as const),
    awaited: often(fc.constant(true), fc.constant(false)),
    body,
    together: fc.boolean(),
  });
  const child: fc.Arbitrary<Op> = fc.record({
    do: fc.constant('child' as const),
    budget: often(fc.constant('shared' as const), fc.constant('own' as const)),
    end: fc.constantFrom('finish' as const, 'abort' as const, 'leave' as const),
    body,
    together: fc.boolean(),
  });
  const op = fc.oneof(
    { weight: 14, arbitrary: call },
    { weight: 5, arbitrary: child },
    { weight: 3, arbitrary: propose },
    { weight: 1, arbitrary: end },
  );
  return fc.array(op, { minLength: levels === 3 ? 1 : 0, maxLength: 3, size: 'max' });
}

function often<A, B>(usual: fc.Arbitrary<A>, other: fc.Arbitrary<B>): fc.Arbitrary<A | B> {
  return fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: other });
}

export const program: fc.Arbitrary<Program> = fc.record({
  maxSteps: fc.integer({ min: 0, max: 12 }),
  maxLoopsPerPhase: fc.integer({ min: 0, max: 3 }),
  parallel: fc.constantFrom('serialize' as const, 'concurrent' as const),
  onToolError: fc.constantFrom('hold' as const, 'observe' as const),
  onBudgetExhausted: fc.constantFrom('deny' as const, 'deny' as const, 'terminate' as const),
  onRejected: fc.constantFrom('deny' as const, 'deny' as const, 'terminate' as const),
  checked: fc.boolean(),
  actorAfter: fc.option(fc.constantFrom(0, 0, 3, 7)),
  inspected: fc.boolean(),
  inspectAfter: fc.option(fc.constantFrom(1, 4)),
  refuses: fc.option(fc.integer({ min: 1, max: 4 }), { freq: 3 }),
  transitions: often(
    fc.constant(DEFAULT_TRANSITIONS),
    fc.constantFrom<readonly Transition[]>(
      // Shortcuts and self-loops; no way back from OBSERVING; no way to ACTING at all.
      [...DEFAULT_TRANSITIONS, ['OBSERVING', 'ACTING'], ['OBSERVING', 'OBSERVING'], ['ACTING', 'ACTING']],
      DEFAULT_TRANSITIONS.filter(([from, to]) => from !== 'OBSERVING' || to !== 'PLANNING'),
      DEFAULT_TRANSITIONS.filter(([, to]) => to !== 'ACTING'),
    ),
  ),
  agents: fc.array(fc.record({ body: ops(3), together: fc.boolean() }), { minLength: 1, maxLength: 3 }),
});

/** A run as its events tell of it: kept beside the run itself, which must agree. */
interface Told {
  readonly id: string;
  readonly parent: Told | null;
  readonly shared: boolean;
  run: Run | undefined;
  phase: Phase;
  stepCount: number;
  loops: number;
  inFlight: number;
  /** Calls whose check is pending. */
  readonly reserved: Set<string>;
  finished: boolean;
  /** Looks at the actor only once it was asked for, at some moment of the run. */
  looks: number;
}

/** Runs a program, and collects whatever breaks a rule. */
export class World {
  readonly faults: string[] = [];
  readonly #s: Scheduler;
  readonly #program: Program;
  readonly #enforcement: Enforcement;
  readonly #told = new Map<string, Told>();
  readonly #mirror = new MirroredRuns((event) => this.#inspect('the mirror', event));
  readonly #ops = new Map<string, Op & { do: 'call' }>();
  readonly #started = new Set<string>();
  readonly #bodies = new Set<string>();
  readonly #promises: (() => Promise<Outcome>)[] = [];
  readonly #endedWell = new Map<Told, number>();
  /** By inspector and run: the latest snapshot. */
  readonly #seen = new Map<string, SnapshotFrom<PhaseMachine> | null>();
  #ids = 0;

  constructor(s: Scheduler, program: Program) {
    this.#s = s;
    this.#program = program;
    const {
      checked,
      parallel,
      inspected,
      agents: _,
      actorAfter: __,
      inspectAfter: ___,
      refuses,
      ...rules
    } = program;
    const check = (call: { callId?: string; runId?: string }) =>
      this.#check(call.runId ?? '', call.callId ?? '');
    // The check comes before `dfa`, so that it is asked in the moment in which the call is reserved.
    const monitor = createMonitor(
      { enabledChecks: ['check', 'dfa'] },
      { checks: [{ name: 'check', check }] },
    );
    this.#enforcement = createEnforcement({
      supervisor: createSupervisor(rules),
      parallel,
      ...(checked ? { monitor } : {}),
      ...(inspected ? { inspect: (event) => this.#inspect('the first', event) } : {}),
    });
    this.#enforcement.on((event) => this.#hear(event));
    if (refuses !== null) {
      this.#enforcement.on({
        required: true,
        listen: (event) => {
          if (event.type === 'call.started' && event.seq % refuses === 0) throw new Error('the disk is full');
        },
      });
    }
  }

  /** Runs the program to its end, then ends what is still live, and looks after each step. */
  async run(): Promise<void> {
    const roots = this.#program.agents.map(({ body, together }) => {
      const root = this.#begin(null, 'own', (id) => this.#enforcement.beginRun({ id }));
      if (root !== undefined) this.#watch(this.#perform(root, null, body, together, false));
      return root;
    });
    await this.#drain();
    await this.#everythingIsSettled('the end of the program');
    for (const told of this.#told.values()) this.#isAtRest(told);
    for (const root of roots) root?.abort('the end of the test');
    await this.#drain();
    await this.#everythingIsSettled('the end of all runs');
    for (const told of this.#told.values()) {
      if (!told.finished) this.#fault(`${told.id} is live after the end of its root`);
    }
  }

  // —— Doing what the program says ——

  #begin(parent: Told | null, budget: 'shared' | 'own', begin: (id: string) => Run): Run | undefined {
    const id = `r${this.#ids++}`;
    const told: Told = {
      id,
      parent,
      shared: budget === 'shared',
      run: undefined,
      phase: 'IDLE',
      stepCount: 0,
      loops: 0,
      inFlight: 0,
      reserved: new Set(),
      finished: false,
      looks: 0,
    };
    this.#told.set(id, told);
    try {
      told.run = begin(id);
    } catch (error) {
      this.#told.delete(id);
      if (!(error instanceof ToolExecutionBlocked && error.code === 'depth-exceeded')) throw error;
    }
    return told.run;
  }

  async #perform(
    run: Run,
    ctx: Call | null,
    ops: readonly Op[],
    together: boolean,
    lost: boolean,
  ): Promise<void> {
    const start = async (op: Op) => {
      await this.#s.schedule(Promise.resolve(), op.do);
      await this.#do(run, ctx, op, lost);
    };
    if (together) await Promise.all(ops.map(start));
    else for (const op of ops) await start(op);
  }

  async #do(run: Run, ctx: Call | null, op: Op, lost: boolean): Promise<void> {
    switch (op.do) {
      case 'finish':
        return run.finish();
      case 'abort':
        return run.abort('the program says so');
      case 'propose': {
        const before = run.state;
        const answer = run.propose(op.target);
        if (!answer.allowed) this.#unchanged(`the proposal of ${op.target}`, before, run);
        return;
      }
      case 'child': {
        if (ctx === null) return;
        const parent = this.#toldOf(run.id);
        const child = this.#begin(parent, op.budget, (id) =>
          this.#enforcement.beginRun({ id, parent: ctx, budget: op.budget }),
        );
        if (child === undefined) return;
        await this.#perform(child, null, op.body, op.together, true);
        if (op.end === 'finish') child.finish();
        else if (op.end === 'abort') child.abort('the agent gave up');
        return;
      }
      case 'call': {
        const callId = `c${this.#ids++}`;
        this.#ops.set(callId, op);
        // Where the caller is known by its context only, a call that is made by itself would be top-level.
        const options = op.via === 'itself' && !lost ? { callId } : { callId, parent: ctx };
        const promise =
          op.via === 'hand'
            ? this.#byHand(run, op, options)
            : run.callTool('tool', {}, (call) => this.#body(run, call, op, lost), options);
        this.#watch(promise);
        if (op.awaited) await promise.catch(() => {});
      }
    }
  }

  async #byHand(run: Run, op: Op & { do: 'call' }, options: { callId: string; parent?: Call | null }) {
    const call = await run.beforeCall('tool', {}, options);
    // Whoever calls by hand looks himself whether the run has ended since.
    const ended = run.state.finished;
    try {
      if (!ended) await this.#body(run, call, op, true);
      run.afterCall(call);
    } catch (error) {
      run.failCall(call, error);
    }
    run.failCall(call);
  }

  async #body(run: Run, call: Call, op: Op & { do: 'call' }, lost: boolean): Promise<void> {
    const { phase, inFlight, finished } = run.state;
    if (finished) this.#fault(`the body of ${call.id} starts in ${run.id}, which has ended`);
    if (!this.#started.has(call.id)) this.#fault(`the body of ${call.id} starts without an admission`);
    if (this.#bodies.has(call.id)) this.#fault(`the body of ${call.id} starts twice`);
    if (phase !== 'ACTING' || inFlight < 1) this.#fault(`the body of ${call.id} starts in ${phase}`);
    this.#bodies.add(call.id);
    await this.#s.schedule(Promise.resolve(), `body ${call.id}`);
    await this.#perform(run, call, op.body, op.together, lost);
    if (!op.ok) throw new Error('the tool failed');
    for (const payer of this.#payers(this.#toldOf(run.id))) {
      this.#endedWell.set(payer, (this.#endedWell.get(payer) ?? 0) + 1);
    }
  }

  #check(runId: string, callId: string): CheckAnswer | Promise<CheckAnswer> {
    this.#toldOf(runId).reserved.add(callId);
    const op = this.#ops.get(callId);
    const answer = (): CheckAnswer => {
      if (op?.check === 'throw') throw new Error('no connection');
      if (op?.check === 'nonsense') return 'yes' as never;
      return op?.check === 'allow' ? { allowed: true } : { allowed: false };
    };
    return op?.atOnce ? answer() : this.#s.schedule(Promise.resolve(), `check ${callId}`).then(answer);
  }

  // —— Looking whether the rules hold ——

  #hear(event: PhasegateEvent): void {
    if (event.run === null) return;
    this.#mirror.take(JSON.parse(JSON.stringify(event)) as PhasegateEvent);
    const told = this.#told.get(event.run);
    if (told === undefined) {
      this.#fault(`an event of no run: ${event.type} ${event.run}`);
      return;
    }
    switch (event.type) {
      case 'phase.entered':
        if (told.finished) this.#fault(`${told.id} enters ${event.phase} after its end`);
        if (event.from !== told.phase)
          this.#fault(`${told.id} leaves ${event.from}, and was in ${told.phase}`);
        told.loops = event.phase === event.from ? told.loops + 1 : 0;
        told.phase = event.phase;
        break;
      case 'call.started': {
        if (this.#started.has(event.call)) this.#fault(`${event.call} is started twice`);
        this.#started.add(event.call);
        told.reserved.delete(event.call);
        told.inFlight += 1;
        if (told.finished) this.#fault(`${event.call} is started after the end of ${told.id}`);
        if (this.#program.checked && this.#ops.get(event.call)?.check !== 'allow') {
          this.#fault(`${event.call} is started, and its check did not allow it`);
        }
        for (const run of this.#payers(told)) {
          if (this.#promised(run) > this.#program.maxSteps) this.#fault(`${event.call} overruns ${run.id}`);
        }
        break;
      }
      case 'call.ended':
        told.inFlight -= 1;
        if (event.late !== told.finished) this.#fault(`the end of ${event.call} is late: ${event.late}`);
        if (event.ok) for (const run of this.#payers(told)) if (!run.finished) run.stepCount += 1;
        break;
      case 'call.refused':
        told.reserved.delete(event.call ?? '');
        this.#isRight(told, event);
        break;
      case 'run.ended':
        if (told.finished) this.#fault(`${told.id} ends twice`);
        told.finished = true;
        break;
    }
  }

  /** Whether a call was refused for a reason that holds: a rule that refuses too much is no rule. */
  #isRight(told: Told, { call, code, seq }: CallRefused): void {
    const { maxSteps, maxLoopsPerPhase, refuses } = this.#program;
    const callId = call ?? '';
    const check = this.#ops.get(callId)?.check;
    const state = told.run?.state ?? this.#enforcement.supervisor.initialState();
    const holds: Record<string, boolean> = {
      'step-budget': this.#payers(told).some((run) => this.#promised(run) >= maxSteps),
      'loop-budget': told.phase === 'ACTING' && told.loops + told.reserved.size >= maxLoopsPerPhase,
      'run-completed': state.finished,
      'check-refused': check === 'refuse',
      'observer-failed': refuses !== null && seq % refuses === 0,
      'check-failed': check === 'throw' || check === 'nonsense',
      'action-unreachable': this.#enforcement.supervisor.rules.table.pathToActing(state.phase) === undefined,
    };
    if (holds[code] !== true) this.#fault(`${callId} is refused for ${code}, which does not hold`);
  }

  /** The runs whose step budget a call of this one counts in: its own, and that of every ancestor (SPEC §10.2). */
  #payers(told: Told): Told[] {
    const payers = [told];
    for (let run = told.shared ? told.parent : null; run !== null; run = run.parent) payers.push(run);
    return payers;
  }

  /** What is spent and promised of a run's step budget. */
  #promised(payer: Told): number {
    let promised = payer.stepCount;
    for (const told of this.#told.values()) {
      if (this.#payers(told).includes(payer)) promised += told.inFlight + told.reserved.size;
    }
    return promised;
  }

  #look(): void {
    const { maxSteps, maxLoopsPerPhase } = this.#program;
    for (const told of this.#told.values()) {
      const state = told.run?.state;
      if (state === undefined) continue;
      this.#lookAtActor(told, state);
      this.#lookAtInspectors(told, state);
      const { phase, stepCount, inFlight, finished } = state;
      const got = JSON.stringify({ phase, stepCount, inFlight, finished });
      const wanted = JSON.stringify({
        phase: told.phase,
        stepCount: told.stepCount,
        inFlight: told.inFlight,
        finished: told.finished,
      });
      if (got !== wanted) this.#fault(`${told.id} is ${got}, and its events say ${wanted}`);
      const loops = Object.values(state.loopCount).reduce((sum, count) => sum + count, 0);
      if (!finished && loops !== told.loops) this.#fault(`${told.id} has ${loops} loops, not ${told.loops}`);
      if (loops > maxLoopsPerPhase) this.#fault(`${told.id} has looped ${loops} times`);
      if (stepCount > maxSteps) this.#fault(`${told.id} has made ${stepCount} steps`);
      if (!finished && this.#promised(told) > maxSteps) this.#fault(`${told.id} has promised too much`);
      if (!finished && inFlight > 0 && phase !== 'ACTING') this.#fault(`${told.id} acts in ${phase}`);
      if (finished !== isTerminal(phase)) this.#fault(`${told.id} is in ${phase}, finished: ${finished}`);
      if (finished && told.reserved.size > 0) this.#fault(`${told.id} has ended, and a call is reserved`);
    }
    // Those that ended late are counted by no one, and were made all the same.
    for (const [payer, well] of this.#endedWell) {
      if (well > maxSteps) this.#fault(`${well} calls that ${payer.id} pays for ended well`);
    }
  }

  #lookAtActor(told: Told, state: Run['state']): void {
    const { actorAfter } = this.#program;
    told.looks += 1;
    if (actorAfter === null || told.looks <= actorAfter || told.run === undefined) return;
    const { value, context, status } = told.run.actor.getSnapshot();
    const { stepCount, inFlight } = context;
    const loops = context.loopCount[String(value)] ?? 0;
    const got = JSON.stringify([value, stepCount, inFlight, loops, status]);
    const wanted = JSON.stringify([
      state.phase,
      // What ends after the end of a run is counted by its ancestors, and leaves its calls in flight.
      state.stepCount,
      state.finished ? inFlight : state.inFlight,
      state.finished ? loops : told.loops,
      state.finished ? 'done' : 'active',
    ]);
    if (got !== wanted) this.#fault(`the actor of ${told.id} is ${got}, the run ${wanted}`);
  }

  /** What an inspector was told of the actor of a run that it sees is what the run is: it was told all of it, in order. */
  #inspect(inspector: string, event: InspectionEvent): void {
    if (event.type !== '@xstate.actor' && event.type !== '@xstate.snapshot') return;
    const { id } = event.actorRef as PhaseActor;
    const key = `${inspector}: ${id}`;
    const parent = (event.actorRef as PhaseActor)._parent?.id;
    const seen = this.#seen.get(key);
    if (event.type === '@xstate.actor') {
      if (seen !== undefined) this.#fault(`${inspector} is told twice that ${id} begins`);
      const around = this.#toldOf(id).parent;
      if (around !== null && !around.finished && !inspector.startsWith('that of') && parent !== around.id) {
        this.#fault(`${id} shows under ${parent}, not under ${around.id}`);
      }
      this.#seen.set(key, null);
    } else {
      if (seen === undefined) this.#fault(`${inspector} is told of ${id} before it begins`);
      this.#seen.set(key, event.snapshot as SnapshotFrom<PhaseMachine>);
    }
    // A slip of the inspector's, which is to harm nothing.
    if (this.#seen.size % 3 === 0) throw new Error('the inspector is broken');
  }

  #lookAtInspectors(told: Told, state: Run['state']): void {
    const { inspected, inspectAfter } = this.#program;
    const inspectors = inspected ? ['the first', 'the mirror'] : ['the mirror'];
    if (inspectAfter !== null && told.looks > inspectAfter) {
      const inspector = `that of ${told.id}`;
      if (!this.#seen.has(`${inspector}: ${told.id}`))
        told.run?.inspect((event) => this.#inspect(inspector, event));
      inspectors.push(inspector);
    }
    for (const inspector of inspectors) {
      const snapshot = this.#seen.get(`${inspector}: ${told.id}`);
      const got = JSON.stringify([snapshot?.value, snapshot?.context.stepCount, snapshot?.status]);
      const wanted = JSON.stringify([state.phase, state.stepCount, state.finished ? 'done' : 'active']);
      if (got !== wanted) this.#fault(`${inspector} sees ${told.id} as ${got}, the run is ${wanted}`);
    }
  }

  /** With nothing under way, the counters alone decide: nothing is reserved any more. */
  #isAtRest(told: Told): void {
    const { run } = told;
    if (run === undefined) return;
    if (told.inFlight !== 0 || told.reserved.size !== 0) this.#fault(`${told.id} is not at rest`);
    const { supervisor } = this.#enforcement;
    const spent = this.#payers(told).some(({ stepCount }) => stepCount >= this.#program.maxSteps);
    const alone = supervisor.validateActionPhase(run.state);
    const answer = run.validateActionPhase();
    const code = spent ? 'step-budget' : alone.allowed || alone.code;
    if ((answer.allowed || answer.code) !== code) {
      this.#fault(`at rest, a call of ${told.id} is decided as ${JSON.stringify(answer)}, not ${code}`);
    }
    for (const target of DEFAULT_PHASES) {
      if (run.state.finished) break;
      const before = run.state;
      const wanted = supervisor.proposeTransition(before, target);
      const got = run.propose(target);
      if (JSON.stringify(got) !== JSON.stringify(wanted)) {
        this.#fault(`at rest, ${told.id} answers ${target} with ${JSON.stringify(got)}`);
      }
    }
  }

  #unchanged(what: string, before: Run['state'], run: Run): void {
    if (JSON.stringify(before) !== JSON.stringify(run.state))
      this.#fault(`${what} was refused, and moved ${run.id}`);
  }

  async #drain(): Promise<void> {
    await macrotask();
    this.#look();
    while (this.#s.count() > 0) {
      await this.#s.waitOne();
      await macrotask();
      this.#look();
    }
  }

  async #everythingIsSettled(when: string): Promise<void> {
    const outcomes = await Promise.all(this.#promises.map((outcome) => outcome()));
    const pending = outcomes.filter(({ status }) => status === 'pending').length;
    if (pending > 0) this.#fault(`${pending} promises are pending at ${when}`);
    for (const outcome of outcomes) {
      if (outcome.status !== 'rejected' || outcome.error instanceof ToolExecutionBlocked) continue;
      const { message } = outcome.error as Error;
      if (message !== 'the tool failed') this.#fault(`a caller is told: ${message}`);
    }
  }

  #watch(promise: Promise<unknown>): void {
    this.#promises.push(watch(promise));
  }

  #toldOf(id: string): Told {
    const told = this.#told.get(id);
    if (told === undefined) throw new Error(`there is no run ${id}`);
    return told;
  }

  #fault(fault: string): void {
    this.faults.push(fault);
  }
}
