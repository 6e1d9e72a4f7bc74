import { type RunResult, RunState, run, type StreamedRunResult } from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { read, times, turns } from '../suite/world.ts';
import { type AnyAgent, ask, Stage } from './stage.ts';

type State = RunState<undefined, AnyAgent>;
type Result = RunResult<undefined, AnyAgent> | StreamedRunResult<undefined, AnyAgent>;

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

afterEach(() => stage.world.expectSound());

const steps = () => stage.world.ended.map(({ stepCount }) => stepCount);

/** The state of what has been interrupted, with all that it waits for approved. */
function approved({ state, interruptions }: Result): State {
  expect(interruptions).not.toEqual([]);
  for (const interruption of interruptions) state.approve(interruption);
  return state as State;
}

describe('a call that needs an approval', () => {
  const buyer = () => {
    const tools = [stage.tool('buy', undefined, { needsApproval: true }), stage.tool('search')];
    return stage.agent(turns([{ tool: 'search' }, { tool: 'buy' }], [{ tool: 'search' }]), { tools });
  };

  it('is not admitted before it has it, and is charged once, where it runs', async () => {
    const agent = buyer();
    const waiting = await stage.run(agent, 'Go');
    expect(stage.world.started).toEqual(['search']);
    expect(stage.world.of('call.started')).toHaveLength(1);
    expect(steps()).toEqual([1]);
    const { finalOutput } = await stage.run(agent, approved(waiting));
    expect(finalOutput).toBe('done');
    expect(stage.world.started).toEqual(['search', 'buy', 'search']);
    expect(steps()).toEqual([1, 2]);
  });

  it('may get it elsewhere, where the state has been read from a text', async () => {
    const agent = buyer();
    const { state } = await stage.run(agent, 'Go');
    const restored = (await RunState.fromString(agent, state.toString())) as State;
    for (const interruption of restored.getInterruptions()) restored.approve(interruption);
    await stage.run(agent, restored);
    expect(stage.world.started).toEqual(['search', 'buy', 'search']);
    expect(steps()).toEqual([1, 2]);
  });

  it('does not run when it is rejected, and is no call', async () => {
    const agent = buyer();
    const { state, interruptions } = await stage.run(agent, 'Go');
    for (const interruption of interruptions) state.reject(interruption, { message: 'Too dear.' });
    await stage.run(agent, state as State);
    expect(stage.conversation.told).toContain('Too dear.');
    expect(stage.world.started).toEqual(['search', 'search']);
    expect(stage.world.of('call.refused')).toEqual([]);
  });

  it('may be refused when it has it', async () => {
    const tools = [stage.tool('buy', undefined, { needsApproval: true })];
    const agent = stage.agent(turns(times(4, 'buy')), { tools });
    await stage.run(agent, approved(await stage.run(agent, 'Go')));
    expect(stage.world.started).toHaveLength(3);
    expect(stage.conversation.told[3]).toContain('Step budget exhausted: 3/3');
  });

  it('in a stream ends the run of the stream', async () => {
    const agent = buyer();
    const waiting = await stage.run(agent, 'Go', { stream: true });
    await read(waiting);
    expect(steps()).toEqual([1]);
    const resumed = await stage.run(agent, approved(waiting), { stream: true });
    await read(resumed);
    expect(resumed.finalOutput).toBe('done');
    expect(steps()).toEqual([1, 2]);
  });

  it('may be made in one run with what comes after it, under one budget', async () => {
    const agent = buyer();
    await stage.gate.run(async ({ signal }) => {
      const waiting = await run(agent, 'Go', { signal });
      return await run(agent, approved(waiting), { signal });
    });
    expect(stage.world.of('run.started')).toHaveLength(1);
    expect(steps()).toEqual([3]);
  });
});

describe('an agent as a tool, inside of which a call needs an approval', () => {
  it('is called again when it has it, and is charged once', async () => {
    const buyer = stage.other('buyer', turns([{ tool: 'buy' }]), {
      tools: [stage.tool('buy', undefined, { needsApproval: true })],
    });
    const shop = stage.gate.agent(buyer).asTool({ toolName: 'shop', toolDescription: 'Shops.' });
    const agent = stage.agent(turns([ask('shop')]), { tools: [shop] });
    const { finalOutput } = await stage.gate.run(async ({ signal }) => {
      const waiting = await run(agent, 'Go', { signal });
      expect(stage.world.started).toEqual([]);
      return await run(agent, approved(waiting), { signal });
    });
    expect(finalOutput).toBe('done');
    expect(stage.conversation.told).toEqual(['done']);
    expect(stage.world.started).toEqual(['buy']);
    expect(stage.world.of('call.ended').map(({ tool, ok }) => [tool, ok])).toEqual([
      ['shop', false],
      ['buy', true],
      ['shop', true],
    ]);
    expect(steps()).toEqual([0, 1, 2]);
  });
});
