// @ts-check

/** @param {number} ns */
export function duration(ns) {
  if (Math.abs(ns) < 1e3) return `${significant(ns)} ns`;
  if (Math.abs(ns) < 1e6) return `${significant(ns / 1e3)} µs`;
  return Math.abs(ns) < 1e9 ? `${significant(ns / 1e6)} ms` : `${significant(ns / 1e9)} s`;
}

/** @param {number} value */
export function bytes(value) {
  return value < 1e5 ? `${significant(value)} B` : `${significant(value / 1e6)} MB`;
}

/** Three digits that say something, and thousands apart. @param {number} value */
export function significant(value) {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** All of its digits, thousands apart. @param {number} value A whole number. */
export function count(value) {
  return value.toLocaleString('en-US');
}
