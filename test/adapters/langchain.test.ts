import { beforeEach, describe, expect, it } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  type PhasegateEvent,
  type Run,
  type SupervisorOptions,
} from '../../src/index.ts';
import { type Gate, type GateOptions, supervise } from '../../src/langchain/index.ts';
import { outcomeOf } from '../core/helpers.ts';

// What holds without an agent or a graph, which compat installs.

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(rules: SupervisorOptions = {}, options: GateOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules) });
  enforcement.on((event) => events.push(event));
  return supervise(enforcement, options);
}

interface Config {
  readonly signal?: AbortSignal;
  readonly metadata?: object;
}

function toolOf(body: (input: unknown, config: Config) => unknown = () => 'found') {
  return { name: 'search', invoke: async (input: unknown, config: Config = {}) => await body(input, config) };
}

const CALL = { type: 'tool_call', name: 'search', id: 'c1', args: { q: 'x' } };

/** An error by which a graph steers itself, as LangGraph throws them. */
function control(name: string): Error {
  return Object.assign(new Error('steering'), { name, is_bubble_up: true });
}

describe('tools', () => {
  it('keep all that they have, and are invoked as methods of what they were', async () => {
    class Search {
      readonly name = 'search';
      readonly #found = 'found';
      get schema() {
        return {};
      }
      async invoke(_input: unknown) {
        return this.#found;
      }
    }
    const gate = gateOf();
    const [search] = gate.tools([new Search()]);
    expect(search).toBeInstanceOf(Search);
    expect(search).toMatchObject({ name: 'search', schema: {} });
    expect(await gate.run(() => search.invoke(CALL))).toBe('found');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', call: 'c1', tool: 'search', args: { q: 'x' } }),
    );
  });

  it.each([
    [null, 'tools must be an array of tools, got null'],
    [[1], 'tools[0] must be a tool, got 1'],
    [[{ invoke: () => 1, name: '' }], 'tools[0].name must be the name of a tool, got ""'],
  ])('are no %j', (tools, message) => {
    expect(() => gateOf().tools(tools as never)).toThrow(message);
  });

  it('answer a refused call of a model with an error message', async () => {
    const gate = gateOf({ maxSteps: 0 });
    const [search] = gate.tools([toolOf()]);
    expect(await gate.run(() => search.invoke(CALL))).toMatchObject({
      type: 'tool',
      status: 'error',
      name: 'search',
      tool_call_id: 'c1',
      content: expect.stringMatching(
        /^Error: Step budget exhausted: 0\/0\. .* Answer now with what you have\.$/,
      ),
    });
  });

  it('that code invokes with arguments alone are refused in an error', async () => {
    const gate = gateOf({ maxSteps: 0 });
    const [search] = gate.tools([toolOf()]);
    const { error } = (await outcomeOf(gate.run(() => search.invoke({ q: 'x' })))) as { error: Error };
    expect(error.message).toMatch(/^Step budget exhausted: 0\/0\. /);
    expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'step-budget' });
  });

  it('are handed the signal of their run, and what they were called with besides', async () => {
    const gate = gateOf();
    let seen: Config | undefined;
    const [search] = gate.tools([
      toolOf((_input, config) => {
        seen = config;
      }),
    ]);
    const own = new AbortController();
    await outcomeOf(
      gate.run(async (run) => {
        await search.invoke(CALL, { signal: own.signal, metadata: { user: 1 } });
        run.abort('enough');
      }),
    );
    expect(seen?.metadata).toEqual({ user: 1 });
    expect(seen?.signal?.reason).toBe('enough');
    expect(own.signal.aborted).toBe(false);
  });

  it('know by the step of the graph which calls the model asked for in one turn', async () => {
    const gate = gateOf({ maxSteps: 0 }, { maxBlocked: 1 });
    const [search] = gate.tools([toolOf()]);
    const ask = (step: number, path: string) =>
      search.invoke(CALL, { metadata: { langgraph_step: step, langgraph_checkpoint_ns: path } });
    const sameTurn = gate.run(async () => {
      for (let n = 0; n < 5; n += 1) await ask(2, `tools:${n}`);
    });
    await expect(sameTurn).resolves.toBeUndefined();
    for (const [step, path] of [
      [4, 'tools:1'],
      [2, 'inner:1|tools:1'],
    ] as const) {
      const outcome = gate.run(async () => {
        await ask(2, 'tools:1');
        await ask(step, path);
      });
      await expect(outcome).rejects.toMatchObject({ code: 'step-budget' });
    }
  });
});

describe('a body that throws what a graph steers itself with', () => {
  const endingOf = async (error: Error, rules: SupervisorOptions = {}) => {
    const gate = gateOf(rules);
    const [search] = gate.tools([
      toolOf(() => {
        throw error;
      }),
    ]);
    return await gate.run(async (run) => {
      expect(await outcomeOf(search.invoke(CALL))).toEqual({ status: 'rejected', error });
      return run.state;
    });
  };

  it.each(['GraphInterrupt', 'NodeInterrupt', 'GraphDrained'])('is suspended by %s', async (name) => {
    expect(await endingOf(control(name))).toMatchObject({ phase: 'OBSERVING', stepCount: 0, loopCount: {} });
  });

  it('is suspended by an answer to an interrupt that has to be given again', async () => {
    const error = Object.assign(new Error('no such answer'), {
      [Symbol.for('langgraph.invalid_resume')]: true,
    });
    expect(await endingOf(error)).toMatchObject({ phase: 'OBSERVING', stepCount: 0 });
  });

  it('has ended well when it hands over to another graph', async () => {
    expect(await endingOf(control('ParentCommand'))).toMatchObject({ phase: 'OBSERVING', stepCount: 1 });
  });

  it('has failed with any other error', async () => {
    expect(await endingOf(new Error('boom'))).toMatchObject({ phase: 'ACTING', stepCount: 0 });
  });

  it('keeps a run in ACTING whose table leads nowhere else', async () => {
    const supervisor = createSupervisor();
    supervisor.removeTransition('ACTING', 'OBSERVING');
    const gate = supervise(supervisor);
    const [search] = gate.tools([
      toolOf(() => {
        throw control('GraphInterrupt');
      }),
    ]);
    await gate.run(async (run) => {
      await outcomeOf(search.invoke(CALL));
      expect(run.state.phase).toBe('ACTING');
    });
  });

  it('beside others that run leaves the run where those are', async () => {
    const enforcement = createEnforcement({ parallel: 'concurrent' });
    const gate = supervise(enforcement);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const [slow, suspended] = gate.tools([
      { ...toolOf(() => released), name: 'slow' },
      toolOf(() => {
        throw control('GraphInterrupt');
      }),
    ]);
    await gate.run(async (run) => {
      const running = slow.invoke(CALL);
      await outcomeOf(suspended.invoke(CALL));
      expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 1 });
      release();
      await running;
      expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1 });
    });
  });
});

describe('middleware', () => {
  const request = { toolCall: { name: 'search', id: 'c1', args: { q: 'x' } }, tool: toolOf() };

  it('comes behind that of the agent', () => {
    const own = { name: 'own' };
    expect(gateOf().middleware([own])).toEqual([own, expect.objectContaining({ name: 'phasegate' })]);
    expect(() => gateOf().middleware(own as never)).toThrow('others must be an array of middleware');
  });

  it('asks for each call, and hands on the tool as it was', async () => {
    const gate = gateOf({ maxSteps: 1 });
    const [wrapped] = gate.tools([request.tool]);
    const [middleware] = gate.middleware();
    const invoke = () =>
      middleware.wrapToolCall({ ...request, tool: wrapped }, ({ tool, toolCall }) => {
        expect([tool, toolCall]).toEqual([request.tool, request.toolCall]);
        return tool.invoke(CALL);
      });
    await gate.run(async () => {
      expect(await invoke()).toBe('found');
      expect(await invoke()).toMatchObject({ status: 'error' });
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', call: 'c1', tool: 'search', args: { q: 'x' } }),
    );
  });

  it.each([
    [{ status: 'error' }, 0],
    [{ status: 'success' }, 1],
  ])('asks for a tool that it does not know, which is %j, and charges %d', async (result, stepCount) => {
    const gate = gateOf();
    const [middleware] = gate.middleware();
    await gate.run(async (run) => {
      const { toolCall } = request;
      expect(await middleware.wrapToolCall({ toolCall }, (): object => result)).toBe(result);
      expect(run.state.stepCount).toBe(stepCount);
    });
  });

  it('knows by the message that asked for it of which turn of the model a call is', async () => {
    const gate = gateOf({ maxSteps: 0 }, { maxBlocked: 1 });
    const [middleware] = gate.middleware();
    const turnBy = (id?: string) => ({ messages: [{ type: 'human' }, { type: 'ai', id }, { type: 'tool' }] });
    const ask = (state: object) => middleware.wrapToolCall({ ...request, state }, () => ({}));
    await gate.run(async () => {
      await ask(turnBy('m1'));
      await ask(turnBy('m1'));
    });
    // A model of which each message has the same id is in another turn with each message more.
    const longer = { messages: [...turnBy('m1').messages, { type: 'ai', id: 'm1' }] };
    for (const [first, second] of [
      [turnBy('m1'), turnBy('m2')],
      [turnBy('m1'), longer],
      [turnBy(), turnBy()],
      [{}, {}],
    ] as const) {
      const outcome = gate.run(async () => {
        await ask(first);
        await ask(second);
      });
      await expect(outcome).rejects.toMatchObject({ code: 'step-budget' });
    }
  });

  it('makes a message of an error, but not of one that steers a graph, or of an aborted run', async () => {
    const gate = gateOf();
    const [middleware] = gate.middleware();
    const outcome = (error: Error, abort = false) =>
      new Promise((resolve) => {
        const code = async (run: Run) => {
          const handler = (): Promise<object> => {
            if (abort) run.abort(error);
            return Promise.reject(error);
          };
          resolve(await outcomeOf(middleware.wrapToolCall(request, handler)));
        };
        gate.run(code).catch(() => {});
      });
    const message = 'Error: boom\n Please fix your mistakes.';
    expect(await outcome(new Error('boom'))).toMatchObject({ value: { status: 'error', content: message } });
    const interrupt = control('GraphInterrupt');
    expect(await outcome(interrupt)).toEqual({ status: 'rejected', error: interrupt });
    const aborted = new Error('aborted');
    expect(await outcome(aborted, true)).toEqual({ status: 'rejected', error: aborted });
  });
});

describe('an agent', () => {
  const agent = {
    invoke: async (_input: object, config: Config = {}) => config.signal,
    stream: async (_input: object, _config: Config = {}) => new ReadableStream<string>(),
  };

  it('is invoked with the signal of its run, to which the caller has a say', async () => {
    const caller = new AbortController();
    const signal = await gateOf().agent(agent).invoke({}, { signal: caller.signal });
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal).not.toBe(caller.signal);
    caller.abort('enough');
    expect(await outcomeOf(gateOf().agent(agent).invoke({}, { signal: caller.signal }))).toMatchObject({
      error: { code: 'run-aborted' },
    });
  });

  it('has its stream closed when it is left', async () => {
    const gate = gateOf();
    const stream = await gate.agent(agent).stream({});
    await stream.cancel();
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: expect.stringContaining('broken off') });
  });

  it.each([
    ['an agent', { options: { tools: [toolOf()] } }],
    ['middleware', { options: { middleware: [{ name: 'own', tools: [toolOf()] }] } }],
    ['a graph', { nodes: { tools: { bound: { tools: [toolOf()] } }, model: {} } }],
  ])('is not taken with a tool of %s that nothing asks for', (_, inside) => {
    expect(() => gateOf().agent({ ...agent, ...inside })).toThrow(
      expect.objectContaining({ code: 'unsupervised-tool' }),
    );
  });

  it('is taken with tools that cannot be seen, or that the middleware asks for', () => {
    const gate = gateOf();
    expect(gate.agent(agent)).not.toBe(agent);
    const options = { tools: [toolOf()], middleware: gate.middleware() };
    expect(() => gate.agent({ ...agent, options })).not.toThrow();
  });

  it('has both invoke and stream', () => {
    expect(() => gateOf().agent({ invoke: () => 1 } as never)).toThrow(
      'agent must be an agent of createAgent',
    );
  });
});
