/** What a recording says, made fit for a terminal: no control characters, which could move the cursor or worse. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, '�');
}

/** The text in that many characters: filled up, or without its beginning, as names differ at their end. */
export function column(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `…${text.slice(text.length - width + 1)}`;
}

/** The number, right-aligned, with its thousands apart. */
export function figure(value: number, width = 0): string {
  return value.toLocaleString('en').padStart(width);
}

/** The number and what it counts: `1 run`, `2 runs`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${figure(value)} ${value === 1 ? one : many}`;
}

/** The text in lines of that many characters at most, broken at spaces, each after the indent. */
export function wrap(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > width && line !== indent) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line];
}
