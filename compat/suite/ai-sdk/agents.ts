import { findToolExecutionBlocked } from 'phasegate';
import { beforeEach, describe, expect, it } from 'vitest';
import { times, turns } from '../world.ts';
import type { Version } from './model.ts';
import { Stage } from './stage.ts';

/** What else the adapter sees of the AI SDK. */
export function describeAgents(version: Version): void {
  const { ai } = version;
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage(version);
  });

  it('its own limit counts turns: one step lets all eight calls of it run', async () => {
    const settings = stage.settings(turns(times(8, 'search')), () => 'found');
    await ai.generateText({ ...settings, stopWhen: version.stepCountIs(1) });
    expect(stage.world.started).toHaveLength(8);
  });

  describe('a refusal', () => {
    it('is the cause of the error that the framework keeps', async () => {
      const settings = stage.settings(turns(times(4, 'search')), () => 'found');
      const result = await stage.gate().agent(ai.generateText)(settings);
      const errors = result.steps[0].content.filter(({ type }: { type: string }) => type === 'tool-error');
      expect(errors).toHaveLength(1);
      expect(findToolExecutionBlocked(errors[0].error)).toMatchObject({ code: 'step-budget' });
    });
  });

  describe('an agent', () => {
    it('with a tool that has not been through tools() is not taken', () => {
      const gate = stage.gate();
      const tools = { ...gate.tools({ search: stage.tool(() => 'found') }), read: stage.tool(() => 'page') };
      const agent = new ai.ToolLoopAgent({ model: stage.model(() => 'done'), tools });
      expect(() => gate.agent(agent)).toThrow(expect.objectContaining({ code: 'unsupervised-tool' }));
      expect(() => gate.agent(agent)).toThrow('read');
    });

    it('is for the rest as it was', () => {
      const gate = stage.gate();
      const tools = gate.tools({ search: stage.tool(() => 'found') });
      const agent = new ai.ToolLoopAgent({ id: 'finder', model: stage.model(() => 'done'), tools });
      const supervised = gate.agent(agent) as typeof agent;
      expect(supervised).toBeInstanceOf(ai.ToolLoopAgent);
      expect([supervised.id, supervised.version, supervised.tools]).toEqual(['finder', agent.version, tools]);
    });

    it('answers a chat', async () => {
      const gate = stage.gate();
      const tools = gate.tools({ search: stage.tool(() => 'found') });
      const agent = gate.agent(
        new ai.ToolLoopAgent({ model: stage.model(turns(times(1, 'search'))), tools }),
      );
      const uiMessages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }];
      const response = await ai.createAgentUIStreamResponse({ agent, uiMessages });
      expect(await response.text()).toContain('done');
      expect(stage.world.started).toEqual(['search']);
      stage.world.expectSound();
    });
  });
}
