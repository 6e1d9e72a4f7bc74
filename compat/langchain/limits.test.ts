/** What LangChain and LangGraph do by themselves: what docs/adapters.md says of them. */
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent, createMiddleware } from 'langchain';
import { beforeEach, describe, expect, it } from 'vitest';
import { errorOf, settled, times, turns } from '../suite/world.ts';
import { ScriptedModel } from './model.ts';
import { GO, Stage } from './stage.ts';

describe('the framework by itself', () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  it.each([
    [2, 8],
    [4, 16],
  ])(
    'lets, under a recursion limit of %d, all calls of each turn run: %d of eight a turn',
    async (limit, calls) => {
      const model = new ScriptedModel(() => times(8, 'search'));
      const tools = [stage.tool('search', () => 'found')];
      const config = { recursionLimit: limit };
      expect(await errorOf(createAgent({ model, tools }).invoke(GO, config))).toMatchObject({
        name: 'GraphRecursionError',
      });
      expect(stage.world.started).toHaveLength(calls);
      await errorOf(createReactAgent({ llm: model, tools }).invoke(GO, config));
      expect(stage.world.started).toHaveLength(2 * calls);
    },
  );

  it('dies of an error of a tool as soon as any middleware wraps calls', async () => {
    const model = new ScriptedModel(turns(times(1, 'search')));
    const tools = [
      stage.tool('search', () => {
        throw new Error('The index is gone');
      }),
    ];
    await createAgent({ model, tools }).invoke(GO);
    const passing = createMiddleware({
      name: 'passing',
      wrapToolCall: (request, handler) => handler(request),
    });
    const error = await errorOf(createAgent({ model, tools, middleware: [passing] }).invoke(GO));
    expect(error).toMatchObject({ message: 'The index is gone' });
  });

  it('takes a step of the recursion limit for each of beforeAgent and afterAgent', async () => {
    const model = new ScriptedModel(turns(times(1, 'search')));
    const tools = [stage.tool('search', () => 'found')];
    const hooks = createMiddleware({ name: 'hooks', beforeAgent: () => {}, afterAgent: () => {} });
    const least = async (agent: { invoke(input: object, config: object): Promise<unknown> }) => {
      for (let limit = 1; ; limit += 1) {
        if (
          await agent.invoke(GO, { recursionLimit: limit }).then(
            () => true,
            () => false,
          )
        )
          return limit;
      }
    };
    const without = await least(createAgent({ model, tools }) as never);
    const withHooks = await least(createAgent({ model, tools, middleware: [hooks] }) as never);
    expect(withHooks - without).toBe(2);
  });

  it('runs afterAgent at the end only of an agent that nothing aborts', async () => {
    const ran: string[] = [];
    const hooks = createMiddleware({
      name: 'hooks',
      beforeAgent: () => void ran.push('before'),
      afterAgent: () => void ran.push('after'),
    });
    const caller = new AbortController();
    const tools = [stage.tool('search', () => caller.abort(new Error('Enough')))];
    const model = new ScriptedModel(turns(times(1, 'search')));
    const agent = createAgent({ model, tools, middleware: [hooks] });
    await errorOf(agent.invoke(GO, { signal: caller.signal }));
    await settled();
    expect(ran).toEqual(['before']);
  });
});
