import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { findToolExecutionBlocked } from 'phasegate';
import { beforeEach, describe, expect, it } from 'vitest';
import { errorOf, times, turns } from '../suite/world.ts';
import { graphOf } from './harness.ts';
import { ScriptedModel } from './model.ts';
import { GO, Stage, told } from './stage.ts';

describe('an agent', () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage({ maxSteps: 2 });
  });

  const search = () => stage.tool('search', () => 'found');
  const asking = () => new ScriptedModel(turns(times(1, 'search')));

  it.each([
    ['createAgent', () => createAgent({ model: asking(), tools: [search()] })],
    ['createReactAgent', () => createReactAgent({ llm: asking(), tools: [search()] })],
    ['a ToolNode', () => graphOf(asking(), [search()])],
  ])('of %s with a tool that has not been through tools() is not taken', (_, make) => {
    expect(() => stage.gate().agent(make())).toThrow(expect.objectContaining({ code: 'unsupervised-tool' }));
    expect(() => stage.gate().agent(make())).toThrow('search');
  });

  it('is for the rest as it was', () => {
    const gate = stage.gate();
    const agent = createAgent({ name: 'finder', model: asking(), tools: gate.tools([search()]) });
    const supervised = gate.agent(agent);
    expect(supervised).toBeInstanceOf(agent.constructor);
    expect(supervised.options).toBe(agent.options);
    expect(supervised.graph).toBe(agent.graph);
  });

  it('with another configuration is one whose invocations are runs, too', async () => {
    const gate = stage.gate();
    const agent = createAgent({ model: asking(), tools: gate.tools([search()]) });
    await gate.agent(agent).withConfig({ recursionLimit: 10 }).invoke(GO);
    expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
  });

  it('asked in a batch has a run for each', async () => {
    const gate = stage.gate();
    const agent = gate.agent(createReactAgent({ llm: asking(), tools: gate.tools([search()]) }));
    await agent.batch([GO, GO, GO]);
    expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([1, 1, 1]);
  });

  it('that is not invoked as a run has its calls refused', async () => {
    const tools = stage.gate().tools([search()]);
    const state = await createAgent({ model: asking(), tools }).invoke(GO);
    expect(told(state)).toEqual([expect.stringContaining('no agent run is active')]);
    expect(stage.world.started).toEqual([]);
  });

  it('that is a node of another graph makes calls of the run of that graph', async () => {
    const gate = stage.gate();
    const model = new ScriptedModel(turns(times(2, 'search'), times(1, 'search')));
    const inner = createReactAgent({ llm: model, tools: gate.tools([search()]) });
    const outer = new StateGraph(MessagesAnnotation)
      .addNode('inner', inner)
      .addEdge('__start__', 'inner')
      .compile();
    const state = await gate.agent(outer).invoke({ messages: GO.messages } as never);
    expect(told(state)).toEqual(['found', 'found', expect.stringContaining('Step budget exhausted: 2/2')]);
    expect(stage.world.ended).toMatchObject([{ stepCount: 2 }]);
  });

  it('that is a tool is a child run, and pays from the same budget', async () => {
    const gate = stage.gate();
    const inner = gate.agent(
      createAgent({ model: new ScriptedModel(turns(times(3, 'search'))), tools: gate.tools([search()]) }),
    );
    const research = stage.tool('research', async () => (await inner.invoke(GO)).messages.at(-1)?.text);
    const model = new ScriptedModel(turns(times(1, 'research')));
    const outer = gate.agent(createAgent({ model, tools: [research], middleware: gate.middleware() }));
    expect(told(await outer.invoke(GO))).toEqual(['done']);
    expect(stage.world.started).toEqual(['research', 'search']);
    const [parent, child] = stage.world.of('run.started');
    expect(child).toMatchObject({ parent: parent?.run, call: 'asked-1' });
    stage.world.expectSound();
  });
});

describe('a tool', () => {
  const stage = new Stage({ maxSteps: 1 });
  const gate = stage.gate();
  const plain = stage.tool('search', () => 'found');
  const [search] = gate.tools([plain]);

  it('is of its class, and keeps what it has', () => {
    expect(search).toBeInstanceOf(plain.constructor);
    expect([search.name, search.description, search.schema]).toEqual([
      plain.name,
      plain.description,
      plain.schema,
    ]);
    expect(gate.tools([search])[0]).toBe(search);
  });

  it.each([
    ['invoke', () => search.invoke({})],
    ['call', () => (search as never as { call(args: object): Promise<unknown> }).call({})],
    ['stream', async () => await (await search.stream({})).next()],
    ['batch', () => search.batch([{}])],
    ['pipe', () => search.pipe((found: unknown) => found).invoke({})],
    ['withConfig', () => search.withConfig({}).invoke({})],
  ])('has no way around the gate: %s', async (_, start) => {
    const before = stage.world.started.length;
    await errorOf(start());
    expect(stage.world.started).toHaveLength(before);
    await gate.run(async () => {
      await start();
      const error = await errorOf(start());
      expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'step-budget' });
    });
    expect(stage.world.started).toHaveLength(before + 1);
  });

  it('that the provider executes is left as it is', () => {
    const web = { type: 'web_search_20250305', name: 'web_search' };
    expect(gate.tools([web])[0]).toBe(web);
  });

  it.each([
    ['no array', {}],
    ['a member that is no tool', [1]],
    ['a tool without a name', [{ invoke: () => {} }]],
  ])('is not taken from %s', (_, tools) => {
    expect(() => gate.tools(tools as never)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
  });
});
