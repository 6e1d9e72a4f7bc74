#!/usr/bin/env node
import { writeSync } from 'node:fs';
import { main } from './main.ts';

const interrupt = new AbortController();

process.on('SIGINT', () => {
  // A second one does not wait for a clean end.
  if (interrupt.signal.aborted) process.exit(130);
  interrupt.abort();
  process.stdin.destroy();
});

// Whoever reads the output may stop before its end, as `head` does: then there is no one left to tell.
process.stdout.on('error', leave);
process.stderr.on('error', leave);

function leave(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit(141);
  // Written at once: this may be the end of the only stream that is left.
  writeSync(
    2,
    `error (file-unwritable): the output cannot be written: ${error.message}
`,
  );
  process.exit(2);
}

process.exitCode = await main(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: interrupt.signal,
});
