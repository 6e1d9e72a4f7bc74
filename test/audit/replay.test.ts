import { describe, expect, it } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import {
  createEnforcement,
  createSupervisor,
  type EnforcementOptions,
  type SupervisorOptions,
} from '../../src/index.ts';
import { gate, refusalOf } from '../core/helpers.ts';
import { replayed } from '../replay/support.ts';
import { decisionsIn, replayedLog, sink } from './support.ts';

function logging(rules: SupervisorOptions = {}, options: EnforcementOptions = {}) {
  const { stream, text } = sink();
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...options });
  enforcement.on(auditLog(stream));
  const again = async () => {
    const { text: second, faults } = await replayedLog(text(), rules, options.parallel ?? 'serialize');
    expect(faults).toEqual([]);
    return decisionsIn(second);
  };
  return { enforcement, text, again };
}

describe('The replay of an audit log', () => {
  it('asks at once for a call of a run that has ended, while another is in flight', async () => {
    const { enforcement, text, again } = logging();
    const run = enforcement.beginRun();
    const body = gate();
    const slow = run.callTool('slow', {}, () => body.passed);
    run.abort('enough');
    await refusalOf(run.callTool('late', {}, () => {}));
    body.open();
    await slow;
    expect(decisionsIn(text()).map((decision) => JSON.parse(decision).type)).toEqual([
      'run.started',
      'phase.entered',
      'phase.entered',
      'call.started',
      'phase.entered',
      'run.ended',
      'call.refused',
      'call.ended',
    ]);
    expect(await again()).toEqual(decisionsIn(text()));
  });

  it('counts a call that waited too long, and neither refuses it nor makes it', async () => {
    const { enforcement, text, again } = logging({}, { waitTimeoutMs: 1 });
    const run = enforcement.beginRun({ id: 'r' });
    const body = gate();
    const slow = run.callTool('slow', {}, () => body.passed);
    expect(await codeOfRefusal(run.callTool('waits', {}, () => {}))).toBe('wait-timeout');
    body.open();
    await slow;
    await run.callTool('next', {}, () => {});
    run.finish();
    expect(await again()).toEqual(decisionsIn(text()));
    const { reports } = await replayed(text());
    expect(reports).toMatchObject([{ run: 'r', calls: 3, verdict: 'allowed', stepCount: 2 }]);
  });

  it('ends a run at its deadline as it ended, with the calls that were in flight uncounted', async () => {
    const { enforcement, text, again } = logging();
    const body = gate();
    await expect(
      enforcement.withRun((run) => run.callTool('slow', {}, () => body.passed), { id: 'r', timeoutMs: 1 }),
    ).rejects.toMatchObject({ code: 'run-timeout' });
    body.open();
    await new Promise(setImmediate);
    expect(await again()).toEqual(decisionsIn(text()));
    const { reports } = await replayed(text());
    expect(reports).toMatchObject([{ calls: 1, stepCount: 0 }]);
  });

  it('gives a sub-agent the budget that it had', async () => {
    const { enforcement, text, again } = logging({ maxSteps: 2 });
    await enforcement.withRun(async (run) => {
      await run.callTool('delegate', {}, (ctx) =>
        enforcement.withRun(
          async (child) => {
            await child.callTool('a', {}, () => {});
            await child.callTool('b', {}, () => {});
          },
          { parent: ctx, budget: 'own' },
        ),
      );
    });
    expect(text()).not.toContain('call.refused');
    expect(await again()).toEqual(decisionsIn(text()));
  });

  it('is held to other budgets than the log was, as any replay', async () => {
    const { enforcement, text } = logging();
    await enforcement.withRun(
      async (run) => {
        for (let i = 0; i < 5; i++) await run.callTool('search', {}, () => {});
      },
      { id: 'r' },
    );
    const { reports } = await replayed(text(), {
      enforcement: { config: { agentProfile: { resourceBudget: { maxSteps: 3 } } } },
    });
    expect(reports).toMatchObject([{ verdict: 'step-budget', firstRefusal: { seq: 4 } }]);
  });

  it('tells no run of one that was cut off at its beginning that it has calls which it had not', async () => {
    const { enforcement, text } = logging();
    const run = enforcement.beginRun({ id: 'r' });
    await run.callTool('outer', {}, async (ctx) => {
      await ctx.callTool('inner', {}, () => {});
    });
    run.finish();
    const lines = text().split('\n');
    const from = lines.findIndex((line) => line.includes('"tool":"inner"'));
    const { reports, faults } = await replayed(lines.slice(from).join('\n'));
    expect(reports).toMatchObject([{ run: 'r', calls: 1 }]);
    expect(faults.map(({ message }) => message)).toEqual(['a call ended that is not open in run r: call-1']);
  });
});

/** The code of a refusal that comes when a timer says so. */
async function codeOfRefusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'none',
    (error: { code: unknown }) => error.code,
  );
}
