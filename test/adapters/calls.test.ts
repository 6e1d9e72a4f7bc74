import { beforeEach, describe, expect, it } from 'vitest';
import { Gate, type GateOptions, throwRefusal } from '../../src/adapters/index.ts';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type EnforcementOptions,
  findToolExecutionBlocked,
  type PhasegateEvent,
  type Run,
  type SupervisorOptions,
  type ToolCall,
  ToolExecutionBlocked,
} from '../../src/index.ts';
import { flush, outcomeOf, refusalOf } from '../core/helpers.ts';

const show = (text: string) => `shown: ${text}`;

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(rules: SupervisorOptions, options: GateOptions = {}, more: EnforcementOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...more });
  enforcement.on((event) => events.push(event));
  return new Gate(enforcement, options, {});
}

const search = (gate: Gate, turn?: unknown, run?: Run) =>
  gate.call({ tool: 'search', args: { q: 'x' }, callId: 'c1', turn, run }, () => 'found', show);

describe('a call', () => {
  it('runs its body inside of the run that the code is in, at once when nothing has to be awaited', async () => {
    const gate = gateOf({});
    await gate.invoke(async (run) => {
      let started = false;
      const outcome = gate.call(
        { tool: 'search', args: { q: 'x' }, callId: 'c1' },
        (call) => {
          started = true;
          expect(call).toMatchObject({ id: 'c1', tool: 'search', run });
          return 'found';
        },
        show,
      );
      expect(started).toBe(true);
      expect(await outcome).toBe('found');
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', call: 'c1', args: { q: 'x' } }),
    );
  });

  it('is of the run that it is handed, where the code is in none', async () => {
    const gate = gateOf({});
    const { run } = gate.begin();
    expect(await search(gate, undefined, run)).toBe('found');
    expect(run.state.stepCount).toBe(1);
  });

  it('is refused outside of any run, and listeners hear of it', async () => {
    const gate = gateOf({});
    expect(await refusalOf(search(gate))).toMatchObject({ code: 'no-active-run', tool: 'search' });
    expect(events).toMatchObject([{ type: 'call.refused', args: { q: 'x' } }]);
  });

  it('rejects with what its body throws, also when that is the refusal of another call', async () => {
    const gate = gateOf({ maxSteps: 1 });
    const outcome = gate.invoke(() =>
      gate.call(
        { tool: 'outer', args: {} },
        () => gate.call({ tool: 'inner', args: {} }, () => 1, throwRefusal),
        show as never,
      ),
    );
    const { error } = (await outcomeOf(outcome)) as { error: Error };
    expect(error.message).toContain('Step budget exhausted: 0/1 (1 call in flight). All tool calls');
    expect(findToolExecutionBlocked(error)).toMatchObject({ tool: 'inner' });
  });

  it('that is asked for wrongly is an error, and not a refusal', async () => {
    const gate = gateOf({});
    const outcome = gate.invoke(() => gate.call({ tool: '', args: {} }, () => 1, show as never));
    expect(await outcomeOf(outcome)).toMatchObject({ error: { code: 'invalid-argument' } });
  });
});

describe('a call whose body the framework runs', () => {
  it('is handed out, and ended by whoever asked', async () => {
    const gate = gateOf({});
    const { run } = gate.begin();
    const answer = await gate.admit({ run, tool: 'search', args: {}, callId: 'c1' }, show);
    if (!('call' in answer)) return expect.fail('it was refused');
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 1 });
    run.afterCall(answer.call);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1 });
  });

  it('is shown its refusal, until there are too many', async () => {
    const gate = gateOf({ maxSteps: 0 }, { maxBlocked: 1 });
    const { run } = gate.begin();
    const ask = () => gate.admit({ run, tool: 'search', args: {} }, show);
    expect(await ask()).toEqual({ shown: expect.stringContaining('shown: Step budget exhausted: 0/0. All') });
    expect(await refusalOf(ask())).toMatchObject({ code: 'step-budget' });
    expect(run.state.finished).toBe(true);
  });
});

describe('a refusal', () => {
  it('is shown as why, and what is legal instead', async () => {
    const gate = gateOf({ maxSteps: 0 });
    const shown = await gate.invoke(() =>
      gate.call<unknown>(
        { tool: 'search', args: {} },
        () => 'found',
        (text, blocked) => ({ text, blocked }),
      ),
    );
    expect(shown).toMatchObject({
      text: 'Step budget exhausted: 0/0. All tool calls that this run may make are made or under way. No further tool call will be run. Answer now with what you have.',
      blocked: { code: 'step-budget' },
    });
  });

  it('aborts its run under `abort`, and whoever waits for the agent gets it, unwrapped', async () => {
    const gate = gateOf({ maxSteps: 0 }, { onBlocked: 'abort' });
    let signal: AbortSignal | undefined;
    const agent = gate.invoke(async (run) => {
      signal = run.signal;
      // As frameworks do, which go on with whatever a tool throws.
      await search(gate).catch(() => undefined);
      await new Promise(() => {});
    });
    const blocked = await refusalOf(agent);
    expect(signal?.reason).toBe(blocked);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', phase: 'ANSWERING', reason: blocked.message });
  });

  it('is what the call rejects with as well, under `abort`', async () => {
    const gate = gateOf({ maxSteps: 0 }, { onBlocked: 'abort' });
    let thrown: unknown;
    await outcomeOf(
      gate.invoke(() =>
        search(gate).catch((error) => {
          thrown = error;
        }),
      ),
    );
    expect(thrown).toBeInstanceOf(ToolExecutionBlocked);
  });

  it('for which a policy ends the run is what whoever waits for the agent gets', async () => {
    const gate = gateOf({ maxSteps: 0, onBudgetExhausted: 'terminate' });
    // As frameworks do, which go on with whatever a tool throws.
    const swallowing = async () => {
      await search(gate).catch(() => undefined);
      await new Promise(() => {});
    };
    expect(await refusalOf(gate.invoke(swallowing))).toMatchObject({ code: 'step-budget' });
    const refuses = { name: 'rule', check: () => ({ allowed: false, message: 'Not today' }) };
    const checked = new Gate(
      createEnforcement({
        supervisor: createSupervisor({ onRejected: 'terminate' }),
        monitor: createMonitor({}, { checks: [refuses] }),
      }),
      {},
      {},
    );
    expect(await refusalOf(checked.invoke(() => search(checked)))).toMatchObject({ message: 'Not today' });
  });
});

describe('refusals in a row', () => {
  /** How many refusals the model is shown before the run is aborted. */
  async function shownOf(gate: Gate, ask: (n: number) => Promise<unknown>, most = 20): Promise<number> {
    let shown = 0;
    await outcomeOf(
      gate.invoke(async () => {
        for (let n = 0; n < most; n += 1) {
          const result = await ask(n).catch(() => undefined);
          if (typeof result !== 'string') return;
          if (result.startsWith('shown')) shown += 1;
        }
      }),
    );
    return shown;
  }

  it.each([0, 1, 3])('are shown %d times, and the next aborts', async (maxBlocked) => {
    const gate = gateOf({ maxSteps: 0 }, { maxBlocked });
    expect(await shownOf(gate, () => search(gate))).toBe(maxBlocked);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: 'Step budget exhausted: 0/0' });
  });

  it('are three by default, and without an end where that is wanted', async () => {
    const byDefault = gateOf({ maxSteps: 0 });
    expect(await shownOf(byDefault, () => search(byDefault))).toBe(3);
    const endless = gateOf({ maxSteps: 0 }, { maxBlocked: Number.POSITIVE_INFINITY });
    expect(await shownOf(endless, () => search(endless))).toBe(20);
  });

  it('of one turn are one', async () => {
    const gate = gateOf({ maxSteps: 0 });
    const messages = [{}, {}, {}, {}, {}];
    expect(await shownOf(gate, (n) => search(gate, messages[Math.floor(n / 5)]))).toBe(15);
  });

  it('start anew when a call is admitted', async () => {
    const odd = {
      name: 'odd',
      check: ({ args }: ToolCall) => ({ allowed: (args as { n: number }).n % 4 === 3 }),
    };
    const gate = gateOf({}, {}, { monitor: createMonitor({}, { checks: [odd] }), supervisor: undefined });
    const ask = (n: number) => gate.call({ tool: 'search', args: { n } }, () => 'found', show);
    expect(await shownOf(gate, ask)).toBe(15);
  });

  it('that code in a body meets are one: the model reads one answer', async () => {
    const gate = gateOf({ maxLoopsPerPhase: 0 });
    const nested = () => gate.call({ tool: 'inner', args: {} }, () => 'found', show);
    const outcome = gate.invoke(() =>
      gate.call(
        { tool: 'outer', args: {} },
        async () => {
          const results = [];
          for (let n = 0; n < 9; n += 1) results.push(await nested());
          return results;
        },
        show as never,
      ),
    );
    expect(await outcomeOf(outcome)).toMatchObject({ status: 'fulfilled', value: { length: 9 } });
  });

  it('are counted for each run', async () => {
    const gate = gateOf({ maxSteps: 0 }, { maxBlocked: 1 });
    const one = gate.invoke(() => search(gate));
    const other = gate.invoke(() => search(gate));
    expect(await Promise.all([one, other])).toEqual([
      expect.stringContaining('shown'),
      expect.stringContaining('shown'),
    ]);
  });

  it('of a run that is over change nothing', async () => {
    const gate = gateOf({});
    const { run } = gate.begin();
    run.finish();
    for (let n = 0; n < 3; n += 1) expect(await search(gate, undefined, run)).toContain('already completed');
    await flush();
    expect(run.state).toMatchObject({ finished: true, reason: null });
  });
});
