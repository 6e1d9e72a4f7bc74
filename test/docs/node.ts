import { spawn } from 'node:child_process';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node as a newcomer's shell would: without what this machine may have set for models and colours. */
export function runNode(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(OPENAI_|FORCE_COLOR|NODE_|VITEST)/.test(name),
  );
  // Here a file of JSON is imported that the build puts into the program.
  const quiet = ['--disable-warning=ExperimentalWarning', ...args];
  return run(process.execPath, quiet, cwd, { ...Object.fromEntries(inherited), NODE_ENV: undefined, ...env });
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
