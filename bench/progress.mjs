// @ts-check

/** A line on the terminal that tells what is being measured; nowhere else is there anything to see of it. @param {number} total */
export function progressOf(total) {
  const { stderr } = process;
  let begun = 0;
  return {
    /** @param {string} name */
    begin(name) {
      begun += 1;
      if (!stderr.isTTY) return;
      const line = `${begun}/${total}  ${name} …`;
      stderr.write(`\r\u001b[K${line.slice(0, (stderr.columns ?? 80) - 1)}`);
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K');
    },
  };
}
