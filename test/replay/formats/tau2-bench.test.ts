import { describe, expect, it } from 'vitest';
import { callsOf, faultsOf, lines, replayed } from '../support.ts';

const asks = (role: 'assistant' | 'user', id: string, name: string) => ({
  role,
  content: null,
  tool_calls: [{ id, name, arguments: {}, requestor: role }],
});
const answers = (id: string, error = false, requestor = 'assistant') => ({
  role: 'tool',
  id,
  content: 'Error: said by a tool that ended well',
  requestor,
  error,
});
const results = (...simulations: readonly unknown[]) => ({ info: {}, tasks: [], simulations });

describe('results of tau2-bench', () => {
  const messages = [
    { role: 'user', content: 'x', tool_calls: null },
    asks('assistant', '1', 'a'),
    answers('1'),
    asks('user', '2', 'of_the_user'),
    answers('2', true, 'user'),
    asks('assistant', '3', 'b'),
    asks('user', '3', 'of_the_user'),
    answers('3', false, 'user'),
    answers('3', true),
    asks('assistant', '4', 'c'),
  ];

  it('are a run for each simulation, named by its place and its task', async () => {
    const content = JSON.stringify(results({ task_id: 'x', messages }, { task_id: 8, messages: [] }));
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([
      { run: '0:x', calls: 3, failed: 1 },
      { run: '1:8', calls: 0 },
    ]);
  });

  it('have failed by error: true, and pass over what the simulated user calls', async () => {
    expect(await callsOf(JSON.stringify(results({ messages })))).toEqual(['a ok', 'b error', 'c none']);
  });

  it('are told from what is none', async () => {
    const content = lines(results({ id: 1 }, { messages: [5, ...messages] }), { tasks: [] });
    expect(await faultsOf(content)).toEqual([
      '1: expected a simulation with "messages", got an object with "id"',
      '1: expected a message with a role, got a number',
      '2: expected an object with "simulations", got an object with "tasks"',
    ]);
  });
});
