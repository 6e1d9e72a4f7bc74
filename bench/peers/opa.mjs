// @ts-check
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ARGS, calls, tool } from '../rows/task.mjs';

// Named in a variable: types are checked where this folder's packages are not installed.
const OPA_WASM = /** @type {string} */ ('@open-policy-agent/opa-wasm');
const POLICY = fileURLToPath(new URL('budget.rego', import.meta.url));

/** What the policy is asked about. @typedef {{ phase: string, stepCount: number, loopCount: number, inFlight: number }} State */

/**
 * budget.rego, compiled to WebAssembly and asked before each call.
 *
 * @returns {Promise<import('../rows/task.mjs').Task | undefined>} Nothing where there is no command `opa`, which alone
 *   compiles policies and comes with no npm package. `OPA` names another.
 */
export async function opaTask() {
  const wasm = compiled(process.env['OPA'] ?? 'opa');
  if (wasm === undefined) return undefined;
  const { loadPolicy } = await import(OPA_WASM);
  const policy = await loadPolicy(wasm);
  policy.setData({ maxSteps: 1e9, maxLoopsPerPhase: 3 });
  /** @param {State} state @returns {boolean} */
  const allows = (state) => policy.evaluate(state)[0].result;
  expectDecisions(allows);
  const state = { phase: 'OBSERVING', stepCount: 0, loopCount: 0, inFlight: 0 };
  return calls('opa', 'OPA: a policy asked by opa-wasm', () => {
    if (!allows(state)) throw new Error('refused');
    const length = tool(ARGS);
    state.stepCount += 1;
    return length;
  });
}

/** @param {string} opa @returns {Uint8Array | undefined} */
function compiled(opa) {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-opa-'));
  try {
    const bundle = join(folder, 'bundle.tar.gz');
    const built = spawnSync(opa, ['build', '-t', 'wasm', '-e', 'budget/allow', '-o', bundle, POLICY], {
      encoding: 'utf8',
    });
    if (built.error !== undefined && 'code' in built.error && built.error.code === 'ENOENT') return undefined;
    if (built.status !== 0) throw failed(`${opa} build`, built);
    const unpacked = spawnSync('tar', ['-xzf', bundle, '-C', folder, '/policy.wasm'], { encoding: 'utf8' });
    if (unpacked.status !== 0) throw failed('tar', unpacked);
    return readFileSync(join(folder, 'policy.wasm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} command @param {import('node:child_process').SpawnSyncReturns<string>} outcome */
function failed(command, { status, stderr, error }) {
  return new Error(`${command}: ${stderr || error?.message || `it ended with code ${status}`}`);
}

/** A policy that decides something else would not be worth measuring. @param {(state: State) => boolean} allows */
function expectDecisions(allows) {
  const state = { phase: 'OBSERVING', stepCount: 3, loopCount: 0, inFlight: 0 };
  const decisions = [
    state,
    { ...state, stepCount: 1e9 },
    { ...state, phase: 'ANSWERING' },
    { ...state, phase: 'ACTING', loopCount: 2 },
    { ...state, phase: 'ACTING', loopCount: 3 },
  ].map(allows);
  if (decisions.join() !== 'true,false,false,true,false') throw new Error(`The policy decides ${decisions}`);
}
