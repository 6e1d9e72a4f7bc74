import { describe, expect, it } from 'vitest';
import { callsOf, eventsOf, lines, replayed, stream } from '../support.ts';

let uuids = 0;
interface Where {
  readonly session?: string;
  /** The line that it continues; with `side`, a sub-agent's. */
  readonly after?: string;
  readonly side?: boolean;
  readonly agentId?: string;
}

function line(
  type: 'user' | 'assistant',
  message: object,
  { session = 's', after, side = false, agentId }: Where = {},
) {
  uuids += 1;
  return {
    type,
    message,
    sessionId: session,
    isSidechain: side,
    uuid: `u${uuids}`,
    parentUuid: after ?? null,
    agentId,
  };
}

const says = (text: string, where?: Where) => line('user', { role: 'user', content: text }, where);
const uses = (turn: string, id: string, name: string, input: object = {}, where?: Where) =>
  line('assistant', { id: turn, role: 'assistant', content: [{ type: 'tool_use', id, name, input }] }, where);
const gives = (id: string, error = false, where?: Where) =>
  line('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, is_error: error }] }, where);

describe('a Claude Code session', () => {
  it('is a run, called by its file', async () => {
    const content = lines(
      { type: 'summary', summary: 'Something', leafUuid: 'x' },
      says('do it'),
      uses('m1', 't1', 'Bash'),
      gives('t1'),
      { type: 'system', content: 'compacted', sessionId: 's' },
      uses('m2', 't2', 'Edit'),
      gives('t2', true),
    );
    const { reports, faults } = await replayed([stream(content, { name: 'projects/abc.jsonl' })]);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([
      { index: 0, run: 'abc.jsonl', calls: 2, failed: 1, verdict: 'allowed', stepCount: 1 },
    ]);
  });

  it('takes lines of one message id as one turn', async () => {
    const content = lines(
      uses('m1', 't1', 'a'),
      uses('m1', 't2', 'b'),
      gives('t2'),
      gives('t1', true),
      uses('m1', 't3', 'c'),
      gives('t3'),
    );
    expect(await callsOf(content)).toEqual(['a error', 'b ok', 'c ok']);
  });

  it('ends a call that has no result when the next turn begins', async () => {
    const content = lines(uses('m1', 't1', 'a'), uses('m2', 't1', 'b'), gives('t1'));
    expect(await callsOf(content)).toEqual(['a none', 'b ok']);
  });

  it('without calls is a run of 0 calls', async () => {
    expect((await replayed(lines(says('hello')))).reports).toMatchObject([{ calls: 0, verdict: 'allowed' }]);
    const summaries = lines({ type: 'summary', summary: 'x', leafUuid: 'y' });
    expect((await replayed([stream(summaries, { name: 'a/b.jsonl' })])).reports).toMatchObject([
      { run: 'b.jsonl', calls: 0 },
    ]);
  });

  it('is told from other sessions in the same file', async () => {
    const content = lines(
      uses('m1', 't1', 'a', {}, { session: 's1' }),
      uses('m2', 't1', 'b', {}, { session: 's2' }),
      gives('t1', false, { session: 's2' }),
      gives('t1', true, { session: 's1' }),
    );
    const { reports } = await replayed([stream(content, { name: 'all.jsonl' })]);
    expect(reports).toMatchObject([
      { index: 0, run: 'all.jsonl', calls: 1, failed: 1 },
      { index: 1, run: 's2', calls: 1, failed: 0 },
    ]);
  });
});

describe('a sub-agent of a Claude Code session', () => {
  // Two sub-agents begun in one turn; the second one runs first. The first has a sub-agent of its own.
  const one = says('first task', { side: true });
  const two = says('second task', { side: true });
  const deep = line('user', { role: 'user', content: [{ type: 'text', text: 'deep task' }] }, { side: true });
  const content = lines(
    says('go'),
    uses('m1', 'T1', 'Task', { prompt: 'first task' }),
    uses('m1', 'T2', 'Task', { prompt: 'second task' }),
    two,
    uses('m2', 't1', 'b1', {}, { side: true, after: two.uuid }),
    gives('t1', true, { side: true, after: two.uuid }),
    gives('T2'),
    one,
    uses('m3', 't1', 'a1', {}, { side: true, after: one.uuid }),
    gives('t1', false, { side: true, after: one.uuid }),
    uses('m4', 'T3', 'Task', { prompt: 'deep task' }, { side: true, after: one.uuid }),
    deep,
    uses('m5', 't2', 'd1', {}, { side: true, after: deep.uuid }),
    gives('t2', false, { side: true, after: deep.uuid }),
    gives('T3', false, { side: true, after: one.uuid }),
    gives('T1'),
    uses('m6', 't9', 'end'),
    gives('t9'),
  );

  it('is found by its first prompt, and is a child run of the call that gave it', async () => {
    const events = await eventsOf(content);
    const begun = events.flatMap((event) => (event.type === 'run.started' && event.parent ? [event] : []));
    const maker = ({ run, call }: { run: string; call: string }) =>
      events.find((event) => event.type === 'call.started' && event.run === run && event.call === call);
    expect(begun.map(({ parent }) => parent && maker(parent))).toMatchObject([
      { callId: 'T2' },
      { callId: 'T1' },
      { callId: 'T3' },
    ]);
  });

  it('counts with the run that it belongs to, in the recorded order', async () => {
    expect(await callsOf(content)).toEqual([
      'Task ok',
      'Task ok',
      'b1 error',
      'a1 ok',
      'Task ok',
      'd1 ok',
      'end ok',
    ]);
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([
      { calls: 7, failed: 1, verdict: 'allowed', stepCount: 6, figures: { depth: 2 } },
    ]);
  });

  it('is followed by its agent id where the lines have one', async () => {
    const withIds = lines(
      uses('m1', 'T1', 'Task', { prompt: 'p' }),
      says('p', { side: true, agentId: 'x' }),
      uses('m2', 't1', 'a', {}, { side: true, agentId: 'x', after: 'elsewhere' }),
      gives('t1', false, { side: true, agentId: 'x' }),
      gives('T1'),
    );
    const { reports } = await replayed(withIds);
    expect(reports).toMatchObject([{ calls: 2, figures: { depth: 1 } }]);
  });

  it('whose call is in no line of the file is a run of its own, once it makes a call', async () => {
    const alone = lines(
      says('warm up', { side: true, agentId: 'idle' }),
      says('task', { side: true, agentId: 'x' }),
      uses('m2', 't1', 'a', {}, { side: true, agentId: 'x' }),
      gives('t1', false, { side: true, agentId: 'x' }),
    );
    const { reports } = await replayed([stream(alone, { name: 'agent-x.jsonl' })]);
    expect(reports).toMatchObject([{ index: 0, run: 'agent-x.jsonl', calls: 1 }]);
    const beside = await replayed(lines(uses('m', 't', 'main')) + alone);
    expect(beside.reports).toMatchObject([
      { index: 0, calls: 1 },
      { index: 1, run: 'agent x', calls: 1 },
    ]);
  });

  it('of two with the same prompt belongs to the first call that has none yet', async () => {
    const first = says('same', { side: true });
    const second = says('same', { side: true });
    const events = await eventsOf(
      lines(
        uses('m1', 'T1', 'Task', { prompt: 'same' }),
        uses('m1', 'T2', 'Task', { prompt: 'same' }),
        first,
        second,
      ),
    );
    const parents = events.flatMap((event) =>
      event.type === 'run.started' && event.parent ? [event.parent.call] : [],
    );
    expect(new Set(parents).size).toBe(2);
  });
});
