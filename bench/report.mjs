// @ts-check
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** @typedef {{ name: string, ns: number, once?: true } | { name: string, bytes: number }} Row `once`: it is done once in a program */

const UNIT = 'guarded call';

/** @param {Row[]} rows */
export function report(rows) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const unit = rows.find(({ name }) => name.startsWith(UNIT));
  if (unit === undefined || !('ns' in unit)) throw new Error(`There is no row ${UNIT}`);
  return {
    phasegate: version,
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    date: new Date().toISOString().slice(0, 10),
    rows: rows.map((row) =>
      'bytes' in row || row.once ? row : { ...row, perSecond: 1e9 / row.ns, ratio: row.ns / unit.ns },
    ),
  };
}

/** @param {ReturnType<typeof report>} result */
export function markdown({ phasegate, node, cpu, cores, date, rows }) {
  const cells = rows.map((row) => [
    row.name,
    'bytes' in row ? `${significant(row.bytes)} B` : duration(row.ns),
    'perSecond' in row ? significant(row.perSecond) : '',
    'ratio' in row ? significant(row.ratio) : '',
  ]);
  const head = ['', 'median', 'a second', `× ${UNIT}`];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...cells].map((row) => row[column]?.length ?? 0)),
  );
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const lines = [head, rule, ...cells].map((row) => {
    const padded = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  });
  return `phasegate ${phasegate}, Node ${node}, ${cpu}, ${cores} cores, ${date}\n\n${lines.join('\n')}`;
}

/** @param {number} ns */
function duration(ns) {
  if (ns < 1e3) return `${significant(ns)} ns`;
  return ns < 1e6 ? `${significant(ns / 1e3)} µs` : `${significant(ns / 1e6)} ms`;
}

/** @param {number} value Three digits that say something, and thousands apart. */
function significant(value) {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}
