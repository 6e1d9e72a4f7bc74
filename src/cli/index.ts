#!/usr/bin/env node
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
  process.exit(error.code === 'EPIPE' ? 141 : 70);
}

process.exitCode = await main(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: interrupt.signal,
});
