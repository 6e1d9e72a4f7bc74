import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, interrupt, MemorySaver, ParentCommand } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent, humanInTheLoopMiddleware } from 'langchain';
import type { SupervisorOptions } from 'phasegate';
import type { Gate } from 'phasegate/langchain';
import { replay } from 'phasegate/replay';
import { afterEach, describe, expect, it } from 'vitest';
import type { Script } from '../suite/harness.ts';
import { errorOf, times, turns } from '../suite/world.ts';
import type { Invocable } from './harness.ts';
import { ScriptedModel } from './model.ts';
import { GO, Stage, thread, told } from './stage.ts';

type Tool = ReturnType<Stage['tool']>;

const BUILDS: Readonly<Record<string, (gate: Gate, model: ScriptedModel, tools: Tool[]) => Invocable>> = {
  'createAgent with tools': (gate, model, tools) =>
    createAgent({ model, tools: gate.tools(tools), checkpointer: new MemorySaver() }) as Invocable,
  'createAgent with middleware': (gate, model, tools) =>
    createAgent({
      model,
      tools,
      middleware: gate.middleware(),
      checkpointer: new MemorySaver(),
    }) as Invocable,
  createReactAgent: (gate, llm, tools) =>
    createReactAgent({
      llm,
      tools: gate.tools(tools),
      version: 'v2',
      checkpointer: new MemorySaver(),
    }) as unknown as Invocable,
};

describe.each(Object.entries(BUILDS))('%s: a call that an interrupt suspends', (_, build) => {
  let stage: Stage;
  let gate: Gate;

  afterEach(() => stage.world.expectSound());

  const agentOf = (script: Script, rules: SupervisorOptions = {}) => {
    stage = new Stage(rules);
    gate = stage.gate();
    const pay = stage.tool('pay', ({ n }) => `paid ${n}: ${interrupt(`pay ${n}?`)}`);
    const search = stage.tool('search', () => 'found');
    return build(gate, new ScriptedModel(script), [pay, search]);
  };
  const supervisedOf = (...parameters: Parameters<typeof agentOf>) => {
    const agent = agentOf(...parameters);
    return gate.agent(agent);
  };
  const resume = (answer: unknown) => new Command({ resume: answer }) as never;

  it('is no step; resumed in a run of its own it is asked for anew, with the same id, and is one', async () => {
    const agent = supervisedOf(turns(times(1, 'pay')), { maxSteps: 1 });
    expect(await agent.invoke(GO, thread())).toMatchObject({ __interrupt__: [{ value: 'pay 1?' }] });
    expect(stage.world.ended).toMatchObject([{ phase: 'ANSWERING', reason: null, stepCount: 0 }]);
    expect(told(await agent.invoke(resume('yes'), thread()))).toEqual(['paid 1: yes']);
    expect(stage.world.ended).toMatchObject([{ stepCount: 0 }, { phase: 'ANSWERING', stepCount: 1 }]);
    const [first, second] = stage.world.of('call.started');
    expect([first?.call, second?.call]).toEqual(['asked-1', 'asked-1']);
    expect(first?.run).not.toBe(second?.run);
  });

  it('and is resumed in the same run is charged once, and is no loop', async () => {
    const agent = agentOf(turns(times(1, 'pay')), { maxSteps: 1, maxLoopsPerPhase: 0 });
    const state = await gate.run(async (run) => {
      await agent.invoke(GO, thread());
      expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 0, loopCount: {}, inFlight: 0 });
      return await agent.invoke(resume('yes'), thread());
    });
    expect(told(state)).toEqual(['paid 1: yes']);
    expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
    expect(stage.world.of('call.refused')).toEqual([]);
  });

  it('takes nothing from the budgets of the calls beside it', async () => {
    const asked = [...times(5, 'pay'), ...times(2, 'search')];
    const agent = supervisedOf(turns(asked), { maxSteps: 2, maxLoopsPerPhase: 0 });
    const { __interrupt__ } = (await agent.invoke(GO, thread())) as never as { __interrupt__: object[] };
    expect(__interrupt__).toHaveLength(5);
    expect(stage.world.started).toHaveLength(7);
    expect(stage.world.of('call.refused')).toEqual([]);
    expect(stage.world.ended).toMatchObject([{ stepCount: 2 }]);
  });

  it('is not charged for what ran beside it when it is resumed', async () => {
    const agent = supervisedOf(turns([...times(1, 'pay'), ...times(2, 'search')]));
    await agent.invoke(GO, thread());
    const state = await agent.invoke(resume('yes'), thread());
    expect(told(state)).toEqual(['paid 1: yes', 'found', 'found']);
    expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([2, 1]);
  });

  it('may be refused when it is resumed, and then the body does not go on', async () => {
    const agent = agentOf(turns(times(1, 'pay')), { maxSteps: 1 });
    const state = await gate.run(async () => {
      await agent.invoke(GO, thread());
      const [search] = gate.tools([stage.tool('search', () => 'found')]);
      await search?.invoke({});
      return await agent.invoke(resume('yes'), thread());
    });
    expect(told(state)).toEqual([expect.stringContaining('Step budget exhausted: 1/1')]);
    expect(stage.world.started).toEqual(['pay', 'search']);
  });
});

it('an approval before the call costs nothing: no body has started', async () => {
  const stage = new Stage({ maxSteps: 1 });
  const gate = stage.gate();
  const agent = gate.agent(
    createAgent({
      model: new ScriptedModel(turns(times(1, 'pay'))),
      tools: [stage.tool('pay', () => 'paid')],
      middleware: gate.middleware([humanInTheLoopMiddleware({ interruptOn: { pay: true } })]),
      checkpointer: new MemorySaver(),
    }),
  );
  await agent.invoke(GO, thread());
  expect(stage.world.started).toEqual([]);
  const answer = new Command({ resume: { decisions: [{ type: 'approve' }] } });
  expect(told(await agent.invoke(answer, thread()))).toEqual(['paid']);
  expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([0, 1]);
});

it('a body that hands over to the graph around it has ended well', async () => {
  const stage = new Stage();
  const gate = stage.gate();
  const handOver = new ParentCommand(new Command({ graph: Command.PARENT, goto: 'billing' }));
  const [transfer] = gate.tools([
    stage.tool('transfer', () => {
      throw handOver;
    }),
  ]);
  await gate.run(async () => {
    expect(await errorOf(transfer?.invoke({}) as Promise<unknown>)).toBe(handOver);
  });
  expect(stage.endings).toEqual(['transfer ended']);
  expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
});

it('with version v1 of createReactAgent all calls of the turn run again, and are charged again', async () => {
  const stage = new Stage();
  const gate = stage.gate();
  const tools = gate.tools([
    stage.tool('pay', () => `paid: ${interrupt('pay?')}`),
    stage.tool('search', () => 'found'),
  ]);
  const llm = new ScriptedModel(turns([...times(1, 'search'), ...times(1, 'pay')]));
  const agent = gate.agent(createReactAgent({ llm, tools, checkpointer: new MemorySaver() }));
  await agent.invoke(GO, thread());
  const state = await agent.invoke(new Command({ resume: 'yes' }) as never, thread());
  expect(told(state)).toEqual(['found', 'paid: yes']);
  expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([1, 2]);
});

it('an interrupt before the tools costs nothing', async () => {
  const stage = new Stage({ maxSteps: 1 });
  const gate = stage.gate();
  const agent = gate.agent(
    createReactAgent({
      llm: new ScriptedModel(turns(times(1, 'search'))),
      tools: gate.tools([stage.tool('search', () => 'found')]),
      interruptBefore: ['tools'],
      checkpointer: new MemorySaver(),
    }),
  );
  await agent.invoke(GO, thread());
  await agent.invoke(null, thread());
  expect(stage.world.started).toEqual(['search']);
  expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([0, 1]);
});

it('a recording with a call that was suspended goes through when it is replayed', async () => {
  const stage = new Stage({ maxSteps: 1, maxLoopsPerPhase: 0 });
  const gate = stage.gate();
  const tools = gate.tools([stage.tool('pay', () => `paid: ${interrupt('pay?')}`)]);
  const model = new ScriptedModel(turns(times(1, 'pay')));
  const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
  await gate.run(async () => {
    await agent.invoke(GO, thread());
    await agent.invoke(new Command({ resume: 'yes' }), thread());
  });
  let reports = 0;
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-'));
  try {
    const file = join(folder, 'recording.jsonl');
    writeFileSync(file, stage.world.events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const { supervisor } = stage.world.enforcement;
    for await (const report of replay({ files: [file], enforcement: { supervisor } })) {
      expect(report).toMatchObject({ verdict: 'allowed', calls: 2, stepCount: 1 });
      reports += 1;
    }
    expect(reports).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('in an agent that is a tool suspends the call of that tool, and ends the child run', async () => {
  const stage = new Stage({ maxSteps: 3, maxLoopsPerPhase: 0 });
  const gate = stage.gate();
  const inner = gate.agent(
    createAgent({
      model: new ScriptedModel(turns(times(1, 'pay'))),
      tools: gate.tools([stage.tool('pay', () => `paid: ${interrupt('pay?')}`)]),
    }),
  );
  const shop = stage.tool('shop', async () => told(await inner.invoke(GO)).join());
  const outer = gate.agent(
    createAgent({
      model: new ScriptedModel(turns(times(1, 'shop'))),
      tools: gate.tools([shop]),
      checkpointer: new MemorySaver(),
    }),
  );
  expect(await outer.invoke(GO, thread())).toMatchObject({ __interrupt__: [{ value: 'pay?' }] });
  expect(stage.endings).toEqual(['pay failed', 'shop failed']);
  expect(told(await outer.invoke(new Command({ resume: 'yes' }), thread()))).toEqual(['paid: yes']);
  expect(stage.endings.slice(2)).toEqual(['pay ended', 'shop ended']);
  expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([0, 0, 1, 2]);
  stage.world.expectSound();
});
