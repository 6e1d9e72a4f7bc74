import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  type Call,
  createEnforcement,
  createSupervisor,
  type Decision,
  type Run,
  type RunState,
  type SupervisorOptions,
  ToolExecutionBlocked,
} from '../../src/index.ts';

interface Step {
  readonly do: 'call' | 'succeed' | 'fail' | 'propose' | 'validateAction' | 'finish' | 'abort' | 'begin';
  readonly id?: string;
  readonly tool?: string;
  readonly parent?: string;
  readonly target?: string;
  readonly reason?: string;
  readonly expect: {
    readonly allowed?: boolean;
    readonly code?: string;
    readonly message?: string;
    readonly path?: readonly string[];
    readonly state: Omit<RunState, 'reason'>;
  };
}

interface Scenario {
  readonly name: string;
  readonly spec?: string;
  readonly options: SupervisorOptions & {
    readonly enabledChecks?: readonly string[];
    readonly parallel?: 'serialize' | 'concurrent';
    readonly table?: {
      readonly phases?: readonly string[];
      readonly add?: readonly (readonly [string, string])[];
      readonly remove?: readonly (readonly [string, string])[];
    };
  };
  readonly steps: readonly Step[];
}

function scenarios(file: string): Scenario[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Scenario[];
}

/** Drives a run as the scenario says, and answers what each step brought. */
async function play({ options, steps }: Scenario): Promise<Step['expect'][]> {
  const { enabledChecks, parallel, table = {}, ...rules } = options;
  const supervisor = createSupervisor({ ...rules, phases: table.phases });
  for (const [from, to] of table.remove ?? []) supervisor.removeTransition(from, to);
  for (const [from, to] of table.add ?? []) supervisor.addTransition(from, to);
  const enforcement = createEnforcement({ supervisor, enabledChecks, parallel });
  const calls = new Map<string | undefined, Call>();
  let run = enforcement.beginRun();
  const answers: Step['expect'][] = [];
  for (const step of steps) {
    if (step.do === 'begin') run = enforcement.beginRun();
    const answer = step.do === 'call' ? await call(run, step, calls) : act(run, step, calls);
    const { reason: _, ...state } = run.state;
    answers.push({ ...answer, state });
  }
  return answers;
}

async function call(run: Run, step: Step, calls: Map<string | undefined, Call>) {
  try {
    const { id: callId, parent, tool = '' } = step;
    calls.set(callId, await run.beforeCall(tool, {}, { callId, parent: calls.get(parent) ?? null }));
    return { allowed: true };
  } catch (error) {
    if (!(error instanceof ToolExecutionBlocked)) throw error;
    return { allowed: false, code: error.code, message: error.message };
  }
}

function act(run: Run, step: Step, calls: Map<string | undefined, Call>) {
  switch (step.do) {
    case 'succeed':
      run.afterCall(calls.get(step.id) as Call);
      return {};
    case 'fail':
      run.failCall(calls.get(step.id) as Call, new Error('the tool failed'));
      return {};
    case 'finish':
      run.finish();
      return {};
    case 'abort':
      run.abort(step.reason);
      return {};
    case 'propose':
      return without(run.propose(step.target ?? ''));
    case 'validateAction':
      return without(run.validateActionPhase());
    default:
      return {};
  }
}

function without(decision: Decision) {
  if (!decision.allowed) return decision;
  const { state: _, ...rest } = decision;
  return rest;
}

describe.each(['scenarios.json', 'random.json'])('%s', (file) => {
  test.each(scenarios(file).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_, scenario) => {
      const answers = await play(scenario);
      scenario.steps.forEach(({ expect: expected }, i) => {
        const answer = answers[i];
        const { message, ...rest } = expected;
        expect({ step: i, ...answer }).toMatchObject({ step: i, ...rest });
        expect(answer?.state.loopCount).toEqual(expected.state.loopCount);
        if (message !== undefined) expect(answer?.message).toContain(message);
      });
    },
  );
});
