import { describe, expect, it } from 'vitest';
import { callsOf, eventsOf, faultsOf, lines, replayed, stream } from '../support.ts';

const main = 'agent:main:main';
const line = (type: string, sessionKey: string, more: object = {}) => ({
  type,
  sessionKey,
  agentId: 'main',
  ...more,
});
const starts = (toolName: string, sessionKey = main, params: object = {}) =>
  line('tool.start', sessionKey, { toolName, params });
const ends = (toolName: string, success: unknown = true, sessionKey = main) =>
  line('tool.end', sessionKey, { toolName, success });
const sub = (id: string) => `agent:main:subagent:${id}`;

describe('telemetry of OpenClaw', () => {
  it('ends the oldest open call of the tool, in the session', async () => {
    const other = 'agent:main:telegram:x';
    const content = lines(
      starts('exec'),
      starts('exec'),
      starts('exec', other),
      ends('exec', false, other),
      ends('exec', false),
      starts('read'),
      ends('exec'),
      ends('read', null),
      ends('read'),
    );
    expect(await callsOf(content)).toEqual(['exec error', 'exec ok', 'exec error', 'read none']);
  });

  it('is one run for all sessions of an agent, and one for each agent', async () => {
    const content = lines(
      { type: 'message.in', channel: 'telegram', content: 'x' },
      starts('exec'),
      starts('exec', 'agent:main:telegram:x'),
      { ...starts('exec', 'agent:work:main'), agentId: 'work' },
    );
    const { reports } = await replayed([stream(content, { name: 'folder/log.jsonl' })]);
    expect(reports.map(({ run, calls }) => `${run} ${calls}`)).toEqual(['log.jsonl 2', 'agent work 1']);
  });

  it('makes a child run of a sub-agent, of the call that has its task', async () => {
    const content = lines(
      starts('sessions_spawn', main, { task: 'look at east' }),
      starts('sessions_spawn', main, { task: 'look at west' }),
      ends('sessions_spawn'),
      line('agent.start', sub('w'), { prompt: '[Subagent Task] look at west, please' }),
      line('agent.start', sub('e'), { prompt: '[Subagent Task] look at east, please' }),
      starts('exec', sub('w')),
      starts('exec', sub('e')),
      ends('exec', true, sub('e')),
      ends('sessions_spawn'),
      ends('exec', true, sub('w')),
    );
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 4, stepCount: 4, figures: { depth: 1, nested: 0 } }]);
    const events = await eventsOf(content);
    const tasks = events.flatMap((event) =>
      event.type === 'call.started' ? [[event.call, event.args]] : [],
    );
    const children = events.flatMap((event) =>
      event.type === 'run.started' && event.parent ? [[event.run, event.parent.call]] : [],
    );
    expect(children.map(([run, call]) => [run, Object.fromEntries(tasks)[String(call)]])).toEqual([
      [`session ${sub('w')}`, { task: 'look at west' }],
      [`session ${sub('e')}`, { task: 'look at east' }],
    ]);
  });

  it('makes a run of a sub-agent that no call of the file began', async () => {
    const { reports } = await replayed(lines(starts('exec'), starts('exec', sub('x'))));
    expect(reports.map(({ calls }) => calls)).toEqual([1, 1]);
  });

  it('without any call is a run without calls', async () => {
    const { reports } = await replayed(lines({ type: 'message.in', channel: 'telegram' }));
    expect(reports).toMatchObject([{ calls: 0 }]);
  });

  it('says which call has no name of a tool', async () => {
    expect(await faultsOf(lines(starts('exec'), line('tool.start', main)))).toEqual([
      '2: tool.start without "toolName", the name of the tool',
    ]);
  });
});
