// @ts-check

/**
 * What was measured. By `id` goals and charts find it. `once`: it is done once in a program, so that saying how often a
 * second says nothing.
 *
 * @typedef {{ id: string, name: string, ns: number, once?: true }} TimedRow
 * @typedef {{ id: string, name: string, bytes: number }} SizedRow
 * @typedef {TimedRow | SizedRow} Row
 */

/** @param {readonly Row[]} rows @param {string} id @returns {number} Nanoseconds or bytes. */
export function figureOf(rows, id) {
  const row = rows.find((one) => one.id === id);
  if (row === undefined)
    throw new Error(`There is no row "${id}", but ${rows.map((one) => one.id).join(', ')}`);
  return 'bytes' in row ? row.bytes : row.ns;
}
