import { describe, expect, test } from 'vitest';
import { folderWith, run } from './support.ts';

describe('phasegate check', () => {
  test('says of each property of the default table that it holds, and ends with 0', async () => {
    const { code, out, err } = await run(['check']);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/^7 phases, 6 transitions, 50 steps, 3 loops a phase\n/);
    expect(out.match(/^✓ /gm)).toHaveLength(8);
    expect(out).toContain('All 8 properties hold.');
  });

  test('tries an edit without a file, shows the shortest way to the fault, and ends with 1', async () => {
    const { code, out } = await run([
      'check',
      '--remove',
      'ACTING:OBSERVING',
      '--add',
      'OBSERVING -> ACTING',
    ]);
    expect(code).toBe(1);
    expect(out).toContain('✗ ACTING can be reached from every phase');
    expect(out).toContain('ACTING: not once its loop budget is spent');
    expect(out).toMatch(/ 1\. propose\.PLANNING {2}/);
    expect(out).toContain('1 of 8 properties fails.');
  });

  test('reads a configuration', async () => {
    folderWith({ 'tight.yaml': 'agent_profile: { resource_budget: { max_steps: 7 } }\n' });
    const { code, out } = await run(['check', 'tight.yaml']);
    expect(code).toBe(0);
    expect(out).toContain('7 steps, 3 loops');
  });

  test('takes the configuration with --config too, as replay and tune do, and not twice', async () => {
    folderWith({ 'tight.yaml': 'agent_profile: { resource_budget: { max_steps: 7 } }\n' });
    expect((await run(['check', '--config', 'tight.yaml'])).out).toContain('7 steps, 3 loops');
    const { code, err } = await run(['check', 'tight.yaml', '-c', 'tight.yaml']);
    expect(code).toBe(2);
    expect(err).toBe(
      'error (invalid-argument): A configuration is given twice, as tight.yaml and as --config tight.yaml: give it once\n',
    );
  });

  test('answers the claims of the user in the same way', async () => {
    const { code, out } = await run(['check', '--never', 'IDLE -> ACTING', '--always-via', 'PLANNING']);
    expect(out).toContain('✓ No run goes from IDLE to ACTING');
    expect(out).toContain('✓ ACTING is never entered from OBSERVING but through PLANNING');
    expect(code).toBe(0);
    expect((await run(['check', '--never', 'IDLE:PLANNING'])).code).toBe(1);
  });

  test('prints one JSON object with the whole answer', async () => {
    const { out } = await run(['check', '--json', '--remove', 'OBSERVING:PLANNING']);
    const { holds, properties, warnings, explored } = JSON.parse(out);
    expect(holds).toBe(false);
    expect(properties).toHaveLength(8);
    expect(warnings.length).toBeGreaterThan(0);
    expect(explored.maxSteps).toBe(3);
  });

  test.each([
    [['check', '--add', 'ANSWERING:IDLE'], 'ANSWERING is terminal'],
    [['check', '--add', 'PLANNING:NOWHERE'], 'there is no phase "NOWHERE"'],
    [['check', '--add', 'PLANNING'], 'Expected FROM:TO'],
    [['check', '--remove', 'IDLE:ACTING'], 'There is no transition IDLE -> ACTING to remove'],
    [['check', '--never', 'IDLE:NOWHERE'], 'Unknown phase: "NOWHERE"'],
    [['check', '--max-steps', '-1'], 'a whole number of 0 or more'],
    [['check', 'missing.yaml'], 'missing.yaml cannot be read'],
    [['check', '--colour'], "unknown option '--colour'"],
  ])('%j is wrong usage: it says why, and ends with 2', async (args, message) => {
    const { code, out, err } = await run(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).not.toMatch(/\n\s+at /);
    expect(out).toBe('');
  });

  test('paints on a terminal only', async () => {
    const colour = '\u001b[';
    expect((await run(['check'], { tty: true })).out).toContain(colour);
    expect((await run(['check'])).out).not.toContain(colour);
    expect((await run(['check'], { tty: true, env: { NO_COLOR: '1' } })).out).not.toContain(colour);
  });
});

describe('phasegate paths', () => {
  test('says how many paths cover how many transitions, and each path', async () => {
    const { code, out } = await run(['paths']);
    expect(code).toBe(0);
    expect(out).toMatch(/^3 paths with 14 events cover all 11 transitions\.\n\n1 {2}propose\.PLANNING/);
  });

  test('says what cannot be covered, and why', async () => {
    const { out } = await run(['paths', '--cover', 'phases']);
    expect(out).toContain('Not covered:\n  REJECTED: REJECTED cannot be reached from IDLE');
  });

  test('writes a test file against the enforcement of the user', async () => {
    const { out } = await run(['paths', '--format', 'vitest', '--enforcement', './mine.js']);
    expect(out).toContain('import { enforcement } from "./mine.js";');
  });

  test('covers the table with its edits', async () => {
    const { out } = await run(['paths', '--add', 'OBSERVING:ACTING', '--format', 'json']);
    expect(JSON.parse(out).covered).toBe(13);
  });

  test.each([
    [['paths', '--cover', 'everything'], 'Allowed choices are phases, transitions, pairs, guards'],
    [['paths', '--format', 'pdf'], 'Allowed choices are table, json, markdown, vitest, mermaid'],
    [['paths', '--enforcement', './mine.js'], '--enforcement goes with --format vitest'],
  ])('%j is wrong usage: it says why, and ends with 2', async (args, message) => {
    const { code, err } = await run(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

describe('calls at once, where the configuration lets them join', () => {
  test('are in the paths, and use up the step budget of one visit to ACTING', async () => {
    folderWith({ 'join.yaml': 'dfa: { parallel: concurrent }\n' });
    const { out } = await run(['paths', 'join.yaml', '--format', 'json']);
    const events = JSON.parse(out).paths.flatMap(({ steps }: { steps: { event: string }[] }) =>
      steps.map(({ event }) => event),
    );
    expect(events).toContain('call.join');
    const once = ['--remove', 'OBSERVING:PLANNING'];
    const warning = 'The step budget of 50 can never be used up';
    expect((await run(['check', ...once])).out).toContain(warning);
    expect((await run(['check', 'join.yaml', ...once])).out).not.toContain(warning);
  });
});
