// @ts-check
import { figureOf } from './row.mjs';
import { bytes, count, duration, significant } from './units.mjs';

/** @typedef {import('./row.mjs').Row} Row */

/**
 * What a row is to reach: at most so many nanoseconds or bytes, by itself, over another row, or as a multiple of another; or
 * so many a second at least.
 *
 * @typedef {{ row: string } & (
 *   | { most: number }
 *   | { most: number, over: string, words: string }
 *   | { times: number, of: string, words: string }
 *   | { perSecond: number }
 * )} Goal
 */

/** What was asked of this package. @type {readonly Goal[]} */
export const GOALS = [
  { row: 'guarded', most: 1e3 },
  { row: 'guarded', times: 20, of: 'switch', words: 'the switch' },
  { row: 'refusal', most: 500 },
  { row: 'callTool async', most: 3e3, over: 'bare await', words: 'the bare await' },
  { row: 'build 200', most: 100e6 },
  { row: 'build call 200', most: 100e6 },
  { row: 'change 200', most: 10e6 },
  { row: 'change call 200', most: 10e6 },
  { row: 'replay', perSecond: 300_000 },
  { row: 'replay all', perSecond: 300_000 },
  { row: 'import', most: 15e6 },
  { row: 'heap of begun', most: 300 },
  { row: 'heap of in flight', most: 400 },
  // A word is the least that can be allocated; medians of many thousand calls are off by a byte or two.
  { row: 'allocated besides', most: 7 },
];

/**
 * `found`: what was measured, in the goal's terms. `inRow`: whether the row's own figures say that already.
 *
 * @typedef {{ row: string, goal: string, found: string, met: boolean, inRow: boolean }} Verdict
 */

/** Whether each goal was met. @param {readonly Row[]} rows @param {readonly Goal[]} goals @returns {Verdict[]} */
export function verdicts(rows, goals = GOALS) {
  return goals.map((goal) => ({ row: goal.row, ...verdict(goal, rows) }));
}

/** A verdict in a cell of its row. @param {Omit<Verdict, 'row'>} verdict */
export function inWords({ goal, found, met, inRow }) {
  return `${goal}: ${met ? 'met' : 'missed'}${inRow ? '' : `, ${found}`}`;
}

/** @param {Goal} goal @param {readonly Row[]} rows */
function verdict(goal, rows) {
  const value = figureOf(rows, goal.row);
  const unit = rows.some((row) => row.id === goal.row && 'bytes' in row) ? bytes : duration;
  if ('perSecond' in goal) {
    const found = 1e9 / value;
    const met = found >= goal.perSecond;
    return { goal: `≥ ${count(goal.perSecond)} a second`, found: significant(found), met, inRow: true };
  }
  if ('times' in goal) {
    const found = value / figureOf(rows, goal.of);
    const met = found <= goal.times;
    return { goal: `≤ ${goal.times} × ${goal.words}`, found: significant(found), met, inRow: false };
  }
  if ('over' in goal) {
    const found = value - figureOf(rows, goal.over);
    const met = found <= goal.most;
    return { goal: `≤ ${unit(goal.most)} over ${goal.words}`, found: unit(found), met, inRow: false };
  }
  const limit = goal.most === 0 ? 'nothing' : `≤ ${unit(goal.most)}`;
  return { goal: limit, found: unit(value), met: value <= goal.most, inRow: true };
}
