import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type Call,
  createEnforcement,
  createMonitor,
  createSupervisor,
  isTerminal,
  type PhasegateEvent,
  Refusal,
  type Run,
} from '../../src/index.ts';
import { flush, watch } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

/** What a listener does when it hears an event, from inside of it. */
type Reaction = 'call' | 'nest' | 'admit and end' | 'admit' | 'end' | 'fail' | 'propose' | 'finish' | 'abort';

const reaction = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom<Reaction>('call', 'nest', 'admit and end', 'admit', 'end', 'fail', 'propose'),
  },
  { weight: 1, arbitrary: fc.constantFrom<Reaction>('finish', 'abort') },
);

const story = fc.record({
  maxSteps: fc.integer({ min: 0, max: 6 }),
  maxLoopsPerPhase: fc.integer({ min: 0, max: 2 }),
  parallel: fc.constantFrom('serialize' as const, 'concurrent' as const),
  check: fc.constantFrom('none', 'allow', 'allow at once', 'refuse some'),
  onToolError: fc.constantFrom('hold' as const, 'observe' as const),
  policy: fc.constantFrom('deny' as const, 'terminate' as const),
  /** The calls of the agent, and whether they end well. */
  calls: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  /** What happens at the n-th event. */
  reactions: fc.dictionary(fc.integer({ min: 0, max: 24 }).map(String), reaction, {
    maxKeys: 6,
    size: 'max',
  }),
});

describe('SPEC §9: whatever listeners do from inside the events', () => {
  test('no rule is broken, and no caller is left waiting', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (story) => {
        const { calls, reactions, check, policy, parallel, ...rules } = story;
        const answer = (n: number) =>
          check === 'refuse some' && n % 2 === 1 ? { allowed: false } : { allowed: true };
        let asked = 0;
        const slow = async () => answer(asked++) as { allowed: true };
        const atOnce = () => ({ allowed: true }) as const;
        const monitor = createMonitor(
          {},
          { checks: [{ name: 'check', check: check === 'allow at once' ? atOnce : slow }] },
        );
        const supervisor = createSupervisor({ ...rules, onBudgetExhausted: policy, onRejected: policy });
        const enforcement = createEnforcement({
          supervisor,
          parallel,
          ...(check === 'none' ? {} : { monitor }),
        });
        const run = enforcement.beginRun();
        const faults: string[] = [];
        const outcomes: (() => Promise<{ status: string }>)[] = [];
        const byHand: Call[] = [];
        let bodies = 0;
        let well = 0;

        const body = (ok: boolean) => async () => {
          const { phase, finished, inFlight } = run.state;
          if (finished || phase !== 'ACTING' || inFlight < 1) faults.push(`a body starts in ${phase}`);
          bodies += 1;
          await Promise.resolve();
          if (!ok) throw new Error('the tool failed');
        };
        const call = (ok: boolean, parent: Call | null) => {
          outcomes.push(watch(run.callTool('tool', {}, body(ok), { parent })));
        };
        const react = (what: Reaction) => {
          switch (what) {
            case 'call':
              return call(true, null);
            case 'nest':
              return call(true, byHand.at(-1) ?? null);
            case 'admit':
            case 'admit and end': {
              const admitted = run.admit('by hand', {}, { parent: null });
              if (admitted instanceof Promise) {
                outcomes.push(watch(admitted.then((later) => byHand.push(later))));
              } else if (!(admitted instanceof Refusal)) {
                if (what === 'admit') byHand.push(admitted);
                else run.afterCall(admitted);
              }
              return;
            }
            case 'end':
              return byHand.length > 0 && run.afterCall(byHand[0] as Call);
            case 'fail':
              return byHand.length > 0 && run.failCall(byHand[0] as Call);
            case 'propose':
              return run.propose('PLANNING');
            case 'finish':
              return run.finish();
            case 'abort':
              return run.abort('the listener says so');
          }
        };

        const told: PhasegateEvent[] = [];
        enforcement.on((event) => {
          told.push(event);
          look(run, supervisor.rules, faults);
          const what = reactions[String(told.length - 1)];
          if (what !== undefined) react(what);
          look(run, supervisor.rules, faults);
        });

        for (const ok of calls) call(ok, null);
        // What was admitted by hand is ended by hand, until nothing is left.
        for (let i = 0; i < 12; i++) {
          await flush();
          for (const held of byHand.splice(0)) run.afterCall(held);
        }
        for (const outcome of outcomes) {
          const { status } = await outcome();
          if (status === 'pending') faults.push('a caller is left waiting');
        }

        well += told.filter((event) => event.type === 'call.ended' && event.ok && !event.late).length;
        if (well !== run.state.stepCount)
          faults.push(`${run.state.stepCount} steps, and ${well} calls ended well`);
        if (run.state.inFlight !== 0) faults.push(`${run.state.inFlight} calls in flight at the end`);
        if (bodies > told.filter(({ type }) => type === 'call.started').length)
          faults.push('more bodies than calls');
        const alone = supervisor.validateActionPhase(run.state);
        const answered = run.validateActionPhase();
        if (JSON.stringify(alone) !== JSON.stringify(answered))
          faults.push(`at rest: ${JSON.stringify(answered)}`);
        faults.push(
          ...faultsOf(
            told,
            supervisor.transitions.map((edge) => edge.join()),
          ),
        );
        expect(faults).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });
});

/** What must hold at every moment, also in the middle of things. */
function look(run: Run, rules: { maxSteps: number; maxLoopsPerPhase: number }, faults: string[]): void {
  const { phase, stepCount, inFlight, finished, loopCount } = run.state;
  if (finished !== isTerminal(phase)) faults.push(`in ${phase}, finished: ${finished}`);
  if (stepCount > rules.maxSteps) faults.push(`${stepCount} steps of ${rules.maxSteps}`);
  if (!finished && stepCount + inFlight > rules.maxSteps) faults.push('promised more than there is');
  if (!finished && inFlight > 0 && phase !== 'ACTING') faults.push(`acts in ${phase}`);
  if ((loopCount[phase] ?? 0) > rules.maxLoopsPerPhase) faults.push(`looped ${loopCount[phase]} times`);
}

/** What must hold of the events, whoever was told of them first. */
function faultsOf(told: readonly PhasegateEvent[], legal: readonly string[]): string[] {
  const faults: string[] = [];
  const ends = told.filter(({ type }) => type === 'run.ended').length;
  if (ends > 1) faults.push(`the run ends ${ends} times`);
  const lives = new Map<string, string>();
  for (const event of told) {
    if (event.type === 'phase.entered') {
      const set = event.phase === 'OBSERVING' || isTerminal(event.phase) || event.from === event.phase;
      if (!set && !legal.includes(`${event.from},${event.phase}`)) {
        faults.push(`${event.from} -> ${event.phase} is no edge`);
      }
    } else if (event.type.startsWith('call.') && 'call' in event && event.call !== null) {
      lives.set(event.call, `${lives.get(event.call) ?? ''} ${event.type.slice('call.'.length)}`);
    }
  }
  for (const [call, life] of lives) {
    if (!/^( waiting)?( reserved)?( refused| started ended)$/.test(life)) faults.push(`${call}:${life}`);
  }
  return faults;
}
