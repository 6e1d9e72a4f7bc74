import fc from 'fast-check';
import { expect, test } from 'vitest';
import '../../seed.ts';
import { describePage } from './inspector.ts';

const name = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'c',
    '__proto__',
    'constructor',
    'toString',
    '',
    '\u202e',
    '<u>x</u>',
    'IDLE',
    'ACTING',
    'EXHAUSTED',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);
const value = fc.oneof(
  { weight: 4, arbitrary: name },
  fc.constantFrom(null, true, false, 0, -1, 1, 2, 1e308, -1e308, 5e-324, 2 ** 53, 1e15, 0.1),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.jsonValue({ maxDepth: 3 }),
);
const type = fc.constantFrom(
  'run.started',
  'run.started',
  'phase.entered',
  'phase.proposed',
  'call.waiting',
  'call.reserved',
  'call.started',
  'call.started',
  'call.ended',
  'call.refused',
  'run.ended',
  'nonsense',
);
const FIELDS = [
  'time',
  'parent',
  'call',
  'seq',
  'tool',
  'from',
  'phase',
  'ok',
  'late',
  'interrupted',
  'error',
  'code',
  'stage',
  'message',
  'reason',
  'waitedMs',
  'decisionMs',
  'stepCount',
  'loopCount',
  'maxSteps',
  'maxLoopsPerPhase',
  'budget',
  'transitions',
  'dfa',
  'key',
  'resumed',
  'allowed',
  'target',
  'args',
  'result',
];
const SANE = {
  time: fc.oneof(fc.integer({ min: 0, max: 5_000 }), value),
  seq: fc.oneof(fc.integer({ min: 1, max: 4 }), value),
  transitions: fc.oneof(
    fc.constant(null),
    fc.dictionary(name, fc.array(name, { maxLength: 3 }), { maxKeys: 4 }),
    value,
  ),
  resumed: fc.oneof(
    value,
    fc.record({
      state: fc.record({ phase: value, stepCount: value, loopCount: value, finished: value, reason: value }),
      calls: fc.array(fc.record({ seq: value, id: value, tool: value, parent: value }), { maxLength: 3 }),
    }),
  ),
};
const event = fc.record(
  {
    ...Object.fromEntries(FIELDS.map((field) => [field, value])),
    ...SANE,
    type,
    run: fc.oneof(fc.constantFrom('a', 'b', null), name),
  },
  { requiredKeys: ['type', 'run'] },
);

const KEYS = [
  'Home',
  ' ',
  'ArrowRight',
  'ArrowRight',
  'l',
  '+',
  '+',
  '-',
  '0',
  '<',
  '>',
  'End',
  'ArrowLeft',
  'l',
];

describePage('the page with any events', (start) => {
  test('says no error, shows no markup, and goes on', async () => {
    // Tables that are none have no chart, which the browser tells as a fault.
    const inspector = await start({ faulty: true });
    const page = await inspector.open();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    await inspector.send([{ type: 'run.started', run: 'first', time: 1 }]);
    await page.getByRole('heading', { name: 'first' }).waitFor();
    let batch = 0;
    let seen = 1;
    const lookAtAll = async () => {
      const known = await page
        .getByRole('status')
        .filter({ hasText: / runs?$/ })
        .textContent();
      const runs = Number(known?.match(/[\d,]+/)?.[0].replace(',', ''));
      for (; seen < runs; seen++) {
        await page.evaluate(
          async ({ run, keys }) => {
            const address = new URLSearchParams(location.hash.slice(1));
            address.set('run', run);
            location.hash = String(address);
            for (const key of keys) {
              await new Promise((resolve) => setTimeout(resolve, 10));
              document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
            }
          },
          { run: String(seen + 1), keys: KEYS },
        );
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
        batch += 1;
        await inspector.send(events, `source ${batch}`);
        await page.waitForTimeout(200);
        await lookAtAll();
        expect(faults).toEqual([]);
        expect(await page.locator('u').count()).toBe(0);
      }),
      { numRuns: 5, endOnFailure: true },
    );
    await inspector.send([{ type: 'run.started', run: 'the last', time: 1e300 }]);
    await page.getByRole('option', { name: 'the last' }).waitFor();
  });
});
