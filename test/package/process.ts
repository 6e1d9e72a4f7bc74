import { spawnSync } from 'node:child_process';

/** Runs Node in a folder, and answers what it printed. */
function node(args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Runs code in a process of its own, and answers what it printed, as JSON. */
export function evaluate(type: 'module' | 'commonjs', code: string, cwd: string): unknown {
  return JSON.parse(node([`--input-type=${type}`, '--eval', code], cwd));
}
