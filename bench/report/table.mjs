// @ts-check

/**
 * A table of Markdown, padded so that it can be read as text too. All columns but the first, and those named as words, are
 * of figures and stand on the right.
 *
 * @param {readonly string[]} head @param {readonly (readonly string[])[]} rows
 * @param {readonly string[]} words The heads of further columns that hold words.
 */
export function table(head, rows, words = []) {
  const cells = [head, ...rows].map((row) => head.map((_, column) => escaped(row[column] ?? '')));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const left = head.map((name, column) => column === 0 || words.includes(name));
  const rule = widths.map((width, column) =>
    left[column] ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const [first, ...rest] = cells.map((row) =>
    row.map((cell, column) => cell[left[column] ? 'padEnd' : 'padStart'](widths[column] ?? 0)),
  );
  return [first, rule, ...rest].map((row) => `| ${row?.join(' | ')} |`).join('\n');
}

/** @param {string} cell */
function escaped(cell) {
  return cell.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('\n', ' ');
}
