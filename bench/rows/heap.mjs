// @ts-check
import { inChild } from '../child.mjs';

/** @typedef {import('../report/row.mjs').Row} Row */

const KINDS = /** @type {const} */ ([
  ['begun', 'heap of a live run, begun, of 100,000'],
  ['in flight', 'heap of a live run, a call in flight, of 100,000'],
  ['after a call', 'heap of a live run, after a call, of 100,000'],
  ['actor', 'heap of a bare XState actor, of 100,000'],
]);

/** The heap that a live run takes, and what a call allocates, each measured in a process of its own. @returns {Row[]} */
export function heapRows() {
  // A young generation in which all that is allocated finds room: then the heap grows by what was allocated.
  const { total, besides } = inChild(
    'allocations.mjs',
    [],
    ['--min-semi-space-size=128', '--max-semi-space-size=128'],
  );
  return [
    ...KINDS.map(([kind, name]) => ({
      id: `heap of ${kind}`,
      name,
      bytes: inChild('live-runs.mjs', [kind]),
    })),
    { id: 'allocated', name: 'allocated by a guarded call', bytes: total },
    { id: 'allocated besides', name: 'allocated by it besides the call that it is', bytes: besides },
  ];
}
