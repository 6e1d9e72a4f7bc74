// @ts-check
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** @typedef {{ phasegate: string, node: string, cpu: string, cores: number, date: string, quick: boolean }} MeasuredOn */

/** What the figures were measured with, and where. @param {boolean} quick @returns {MeasuredOn} */
export function measuredOn(quick) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return {
    phasegate: version,
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    date: new Date().toISOString().slice(0, 10),
    quick,
  };
}

/** The same as a sentence. @param {MeasuredOn} where */
export function caption({ phasegate, node, cpu, cores, date, quick }) {
  const sentence = `Measured on ${date} with phasegate ${phasegate} and Node ${node}, on ${cores} cores of ${cpu}`;
  return quick ? `${sentence}; a quick run, with too few samples to compare with` : sentence;
}
