import { createAgent, createMiddleware, tool, toolRetryMiddleware } from 'langchain';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { errorOf, times, turns } from '../suite/world.ts';
import { ScriptedModel } from './model.ts';
import { GO, Stage, told } from './stage.ts';

const passing = () =>
  createMiddleware({ name: 'passing', wrapToolCall: (request, handler) => handler(request) });
const retry = (maxRetries: number) => toolRetryMiddleware({ maxRetries, initialDelayMs: 0, jitter: false });

describe('gate.middleware', () => {
  let stage: Stage;

  afterEach(() => stage.world.expectSound());

  const broken = () =>
    stage.tool('search', () => {
      throw new Error('The index is gone');
    });

  it('lets an agent live whose tool fails, as it does without any middleware', async () => {
    stage = new Stage();
    const model = new ScriptedModel(turns(times(1, 'search')));
    const plain = await createAgent({ model, tools: [broken()] }).invoke(GO);
    stage = new Stage();
    const gate = stage.gate();
    const agent = gate.agent(createAgent({ model, tools: [broken()], middleware: gate.middleware() }));
    expect(told(await agent.invoke(GO))).toEqual(told(plain));
    expect(told(plain)).toEqual(['✗ Error: The index is gone\n Please fix your mistakes.']);
    expect(stage.endings).toEqual(['search failed']);
  });

  it('leaves to other middleware what becomes of errors', async () => {
    stage = new Stage();
    const gate = stage.gate();
    const model = new ScriptedModel(turns(times(1, 'search')));
    const middleware = gate.middleware([passing()]);
    const agent = gate.agent(createAgent({ model, tools: [broken()], middleware }));
    expect(await errorOf(agent.invoke(GO))).toMatchObject({ message: 'The index is gone' });
    expect(stage.world.ended).toHaveLength(1);
  });

  it('tells of arguments that do not fit as the framework does', async () => {
    stage = new Stage();
    const gate = stage.gate();
    const add = tool(() => 'sum', { name: 'add', description: 'Adds.', schema: z.object({ a: z.number() }) });
    const model = new ScriptedModel((turn) => (turn === 0 ? [{ tool: 'add', args: { a: 'one' } }] : 'done'));
    const agent = gate.agent(createAgent({ model, tools: [add], middleware: gate.middleware() }));
    expect(told(await agent.invoke(GO))).toEqual([
      expect.stringContaining("✗ Error invoking tool 'add' with kwargs"),
    ]);
    expect(stage.endings).toEqual(['add failed']);
  });

  it('lets the framework answer for a tool that there is none of: a call that failed', async () => {
    stage = new Stage();
    const gate = stage.gate();
    const model = new ScriptedModel(turns(times(1, 'write')));
    const tools = [stage.tool('search', () => 'found')];
    const agent = gate.agent(createAgent({ model, tools, middleware: gate.middleware() }));
    expect(told(await agent.invoke(GO))).toEqual([expect.stringContaining('write is not a valid tool')]);
    expect(stage.endings).toEqual(['write failed']);
  });

  it('asks for a tool of which other middleware puts the name right', async () => {
    stage = new Stage({ maxSteps: 0 });
    const gate = stage.gate();
    const correcting = createMiddleware({
      name: 'correcting',
      wrapToolCall: (request, handler) =>
        handler({ ...request, toolCall: { ...request.toolCall, name: 'search' } }),
    });
    const model = new ScriptedModel(turns(times(1, 'serch')));
    const tools = [stage.tool('search', () => 'found')];
    const middleware = gate.middleware([correcting]);
    const state = await gate.agent(createAgent({ model, tools, middleware })).invoke(GO);
    expect(told(state)).toEqual([expect.stringContaining('Step budget exhausted: 0/0')]);
    expect(stage.world.started).toEqual([]);
  });

  it('asks once for a tool that has been through tools as well', async () => {
    stage = new Stage();
    const gate = stage.gate();
    const model = new ScriptedModel(turns(times(1, 'search')));
    const tools = gate.tools([stage.tool('search', () => 'found')]);
    await gate.agent(createAgent({ model, tools, middleware: gate.middleware() })).invoke(GO);
    expect(stage.world.of('call.started')).toHaveLength(1);
    expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
  });

  it('asks for tools that other middleware brings in, or puts in the place of another', async () => {
    stage = new Stage({ maxSteps: 1 });
    const gate = stage.gate();
    const model = new ScriptedModel(turns([{ tool: 'search' }, { tool: 'extra' }, { tool: 'unlisted' }]));
    const extra = createMiddleware({ name: 'extra', tools: [stage.tool('extra', () => 'more')] });
    const replacing = createMiddleware({
      name: 'replacing',
      wrapToolCall: (request, handler) =>
        handler(
          request.toolCall.name === 'unlisted'
            ? { ...request, tool: stage.tool('unlisted', () => 'replaced') }
            : request,
        ),
    });
    const tools = [stage.tool('search', () => 'found')];
    const middleware = gate.middleware([extra, replacing]);
    const state = await gate.agent(createAgent({ model, tools, middleware })).invoke(GO);
    expect(stage.world.started).toEqual(['search']);
    expect(told(state)).toEqual([
      'found',
      expect.stringMatching(/✗ Error: Step budget exhausted: 1\/1/),
      expect.stringMatching(/✗ Error: Step budget exhausted: 1\/1/),
    ]);
  });

  describe('beside middleware that tries again', () => {
    const agentOf = (rules: ConstructorParameters<typeof Stage>[0], retries: number, failures: number) => {
      stage = new Stage(rules);
      let tries = 0;
      const search = stage.tool('search', () => {
        tries += 1;
        if (tries <= failures) throw new Error('The index is busy');
        return 'found';
      });
      const gate = stage.gate();
      const model = new ScriptedModel(turns(times(1, 'search')));
      const middleware = gate.middleware([retry(retries)]);
      return gate.agent(createAgent({ model, tools: [search], middleware }));
    };

    it('is asked for each try, and a try that fails is no step', async () => {
      expect(told(await agentOf({}, 2, 2).invoke(GO))).toEqual(['found']);
      expect(stage.endings).toEqual(['search failed', 'search failed', 'search ended']);
      expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
    });

    it('refuses by the loop budget the try that is too many, and that is not tried again', async () => {
      expect(told(await agentOf({ maxLoopsPerPhase: 1 }, 5, 9).invoke(GO))).toEqual([
        expect.stringMatching(/✗ Error: Loop budget exhausted in ACTING: 1\/1/),
      ]);
      expect(stage.world.started).toHaveLength(2);
      expect(stage.world.of('call.refused')).toHaveLength(1);
    });

    it('refuses a call of which no try is tried again', async () => {
      expect(told(await agentOf({ maxSteps: 0 }, 5, 0).invoke(GO))).toEqual([
        expect.stringMatching(/✗ Error: Step budget exhausted: 0\/0/),
      ]);
      expect(stage.world.of('call.refused')).toHaveLength(1);
    });
  });

  it('that is not the innermost guards no tool', () => {
    stage = new Stage();
    const gate = stage.gate();
    const model = new ScriptedModel(() => 'done');
    const tools = [stage.tool('search', () => 'found')];
    const wrong = [...gate.middleware(), passing()];
    expect(() => gate.agent(createAgent({ model, tools, middleware: wrong }))).toThrow(
      expect.objectContaining({ code: 'unsupervised-tool' }),
    );
    const middleware = [...gate.middleware(), passing()];
    expect(() => gate.agent(createAgent({ model, tools: gate.tools(tools), middleware }))).not.toThrow();
  });

  it('is given an array of middleware', () => {
    stage = new Stage();
    expect(() => stage.gate().middleware(passing() as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});
