/** Writes paths for people, for machines, and as a test file. */
import { invalidArgument } from '../errors.ts';
import type { Rules } from '../rules.ts';
import type { PathSuite, TestStep } from './generate.ts';

/** How paths can be written. */
export type PathFormat = 'table' | 'json' | 'markdown' | 'vitest' | 'mermaid';

/** What the paths were generated for. */
export interface PathRules extends Rules {
  /** @default 'serialize' */
  readonly parallel?: 'serialize' | 'concurrent' | undefined;
}

/** The formats that there are, in order. */
export const FORMAT_NAMES: readonly PathFormat[] = ['table', 'json', 'markdown', 'vitest', 'mermaid'];

/**
 * Writes the paths of a suite.
 *
 * @param rules What the paths were generated for: a test file makes its own enforcement of them.
 * @param enforcement For `vitest`: the module that exports the `enforcement` to test instead.
 * @throws {PhasegateError} `invalid-argument` for a format that does not exist.
 * @example formatPaths(generatePaths(supervisor), 'markdown', supervisor.rules);
 */
export function formatPaths(
  suite: PathSuite,
  format: PathFormat,
  rules: PathRules,
  enforcement?: string,
): string {
  switch (format) {
    case 'table':
      return table(suite);
    case 'json':
      return JSON.stringify(suite, null, 2);
    case 'markdown':
      return markdown(suite);
    case 'vitest':
      return vitest(suite, rules, enforcement);
    case 'mermaid':
      return mermaid(suite);
    default:
      throw invalidArgument('format', FORMAT_NAMES.map((name) => `'${name}'`).join(' or '), format);
  }
}

const COVERED = {
  phases: 'phases',
  transitions: 'transitions',
  pairs: 'pairs of transitions',
  guards: 'outcomes of guards',
} as const;

function summary({ cover, paths, covered, uncovered }: PathSuite): string {
  const events = paths.reduce((sum, path) => sum + path.steps.length, 0);
  const of = uncovered.length === 0 ? `all ${covered}` : `${covered} of ${covered + uncovered.length}`;
  return `${paths.length} ${paths.length === 1 ? 'path' : 'paths'} with ${events} events cover ${of} ${COVERED[cover]}`;
}

function table(suite: PathSuite): string {
  const width = String(suite.paths.length).length;
  const rows = suite.paths.map(
    (path, i) => `${String(i + 1).padStart(width)}  ${shortened(path.steps).join('  ')}`,
  );
  const missing = suite.uncovered.map(({ goal, why }) => `  ${goal}: ${why}`);
  return [
    `${summary(suite)}.`,
    '',
    ...rows,
    ...(missing.length === 0 ? [] : ['', 'Not covered:', ...missing]),
  ].join('\n');
}

function markdown(suite: PathSuite): string {
  const rows = suite.paths.map(({ name, steps }, i) => {
    const events = shortened(steps).map((event) => `\`${event}\``);
    return `| ${i + 1} | ${name.replace(/^path \d+ to /, '')} | ${steps.length} | ${events.join(' ')} |`;
  });
  const missing = suite.uncovered.map(({ goal, why }) => `- ${goal}: ${why}`);
  return [
    `${summary(suite)}.`,
    '',
    '| path | ends in | events | |',
    '| ---: | --- | ---: | --- |',
    ...rows,
    ...(missing.length === 0 ? [] : ['', 'Not covered:', '', ...missing]),
  ].join('\n');
}

function mermaid({ paths }: PathSuite): string {
  const lines = paths.flatMap((path, i) => {
    const node = (step: number) => `p${i + 1}_${step}`;
    const arrows = grouped(path.steps).map(({ label, refused, phase }, step) => {
      const arrow = refused ? `-. "${label}" .->` : `-- "${label}" -->`;
      return `    ${node(step)} ${arrow} ${node(step + 1)}["${phase}"]`;
    });
    return [
      `  subgraph path${i + 1}["path ${i + 1}"]`,
      '    direction LR',
      `    ${node(0)}["IDLE"]`,
      ...arrows,
      '  end',
    ];
  });
  return ['flowchart TB', ...lines].join('\n');
}

/** Steps for people: an event, and that it is refused; a call after another, up to a large budget, is told as one. */
function shortened(steps: readonly TestStep[]): string[] {
  return grouped(steps).map(({ label }) => label);
}

interface Told {
  readonly label: string;
  readonly refused: boolean;
  readonly phase: string;
}

function grouped(steps: readonly TestStep[]): Told[] {
  const told: Told[] = [];
  for (let i = 0; i < steps.length; ) {
    const [length, times] = cycleAt(steps, i);
    const cycle = steps.slice(i, i + length);
    const last = cycle.at(-1);
    if (last === undefined) break;
    const alike = refusedAlike(steps, i);
    if (alike.length > 1) {
      const targets = alike.map(({ event }) => event.replace('propose.', '')).join(', ');
      told.push({ label: `propose.{${targets}} ✗ ${last.code}`, refused: true, phase: last.state.phase });
      i += alike.length;
      continue;
    }
    const names = cycle.map(({ event, code }) => (code === null ? event : `${event} ✗ ${code}`)).join(', ');
    told.push({
      label: times === 1 ? names : `(${names}) × ${times}`,
      refused: !last.allowed,
      phase: last.state.phase,
    });
    i += length * times;
  }
  return told;
}

/** Proposals from here on that are refused for the same reason. */
function refusedAlike(steps: readonly TestStep[], from: number): readonly TestStep[] {
  const code = steps[from]?.code;
  const other = steps.findIndex(
    (step, i) => i >= from && (step.allowed || step.code !== code || !step.event.startsWith('propose.')),
  );
  return steps.slice(from, other === -1 ? steps.length : other);
}

/** How long the sequence that repeats from here is, and how often it is there: at least four times, or it is no cycle. */
function cycleAt(steps: readonly TestStep[], from: number): readonly [length: number, times: number] {
  const names = (at: number, length: number) =>
    steps
      .slice(at, at + length)
      .map(({ event }) => event)
      .join();
  for (let length = 1; length <= 12; length++) {
    const cycle = names(from, length);
    let times = 1;
    while (names(from + times * length, length) === cycle) times += 1;
    if (times >= 4 && length > 1) return [length, times];
  }
  return [1, 1];
}

function vitest({ cover, paths }: PathSuite, rules: PathRules, enforcement: string | undefined): string {
  const {
    table,
    maxSteps,
    maxLoopsPerPhase,
    onToolError,
    onBudgetExhausted,
    onRejected,
    parallel = 'serialize',
  } = rules;
  const options = {
    maxSteps,
    maxLoopsPerPhase,
    phases: table.phases.slice(7),
    transitions: table.transitions,
    onToolError,
    onBudgetExhausted,
    onRejected,
  };
  const literal = JSON.stringify(options, (_, value) =>
    value === Number.POSITIVE_INFINITY ? INFINITE : value,
  );
  const made =
    enforcement === undefined
      ? [
          "import { createEnforcement, createSupervisor } from 'phasegate';",
          "import { enforcementAdapter, testPath } from 'phasegate/paths';",
          "import { describe, test } from 'vitest';",
          '',
          `const supervisor = createSupervisor(${literal.replaceAll(`"${INFINITE}"`, 'Number.POSITIVE_INFINITY')});`,
          `const enforcement = createEnforcement({ supervisor, parallel: '${parallel}' });`,
        ]
      : [
          "import { enforcementAdapter, testPath } from 'phasegate/paths';",
          "import { describe, test } from 'vitest';",
          `import { enforcement } from ${JSON.stringify(enforcement)};`,
        ];
  return [
    `// Made by \`phasegate paths --cover ${cover} --format vitest\`. Make it anew when the table or a budget changes.`,
    ...made,
    '',
    'const paths = [',
    ...paths.map((path) => `  ${JSON.stringify(path)},`),
    '];',
    '',
    `describe('the enforcement follows the machine: ${COVERED[cover]}', () => {`,
    "  test.each(paths.map((path) => [path.name, path]))('%s', async (_, path) => {",
    '    await testPath(path, enforcementAdapter(enforcement));',
    '  });',
    '});',
  ].join('\n');
}

// No name of a phase is written like that.
const INFINITE = 'Infinity';
