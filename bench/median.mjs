// @ts-check

/** The middle one; of an even number of values the upper of the middle two. @param {readonly number[]} values */
export function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
