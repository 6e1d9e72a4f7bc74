import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT } from '../../src/cli/exit.ts';
import { configJsonSchema } from '../../src/config-json-schema.ts';
import { FORMATS } from '../../src/replay/index.ts';
import { readPage } from './markdown.ts';
import { ROOT } from './workspace.ts';

// What the package ships: the files of `src`, and the folders that an entry or the command leads into.
const ENTRIES = Object.entries(packageJson.exports).filter(([, target]) => typeof target !== 'string');
const FOLDERS = [...ENTRIES.map(([entry]) => entry.split('/')[1]), 'cli'];
const isShipped = (name: string) =>
  name.endsWith('.ts') && (!name.includes(sep) || FOLDERS.includes(name.split(sep)[0]));
const ALL_SOURCES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(ROOT, 'src', name), 'utf8') }));
const SOURCES = ALL_SOURCES.filter(({ name }) => isShipped(name));

describe('docs/rules.md', () => {
  it('has every paragraph that the project cites', () => {
    const machines = readdirSync(join(ROOT, 'machines')).map((name) =>
      readFileSync(join(ROOT, 'machines', name), 'utf8'),
    );
    const cited = [...SOURCES.map(({ text }) => text), ...machines, readPage('CONTRIBUTING.md')].flatMap(
      (text) => [...text.matchAll(/§(\d+(?:\.\d+)?)/g)].map(([, paragraph]) => paragraph),
    );
    expect(cited.length).toBeGreaterThan(0);
    const rules = readPage('docs/rules.md');
    const there = [...rules.matchAll(/^(?:## (\d+)\.|\*\*(\d+\.\d+)\*\*)/gm)].map(
      ([, section, item]) => section ?? item,
    );
    expect(cited.filter((paragraph) => !there.includes(paragraph))).toEqual([]);
  });

  it('has a message for each code that a refusal may have', () => {
    const codes = tableIn('docs/rules.md', '## 3. One proposal');
    expect(codes).toEqual(refusalCodes());
  });
});

describe('docs/errors.md', () => {
  it('says of every code that the package ships what to do, and of none that is not in the sources', () => {
    const documented = [...readPage('docs/errors.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(
      ([, code = '']) => code,
    );
    expect(new Set(documented).size).toBe(documented.length);
    expect([...codesIn(SOURCES)].filter((code) => !documented.includes(code))).toEqual([]);
    const everywhere = codesIn(ALL_SOURCES);
    expect(documented.filter((code) => !everywhere.has(code))).toEqual([]);
  });

  it('says nothing of the codes without a meaning and an advice', () => {
    for (const [row] of readPage('docs/errors.md').matchAll(/^\| `[a-z-]+` \|.*$/gm)) {
      expect(row.split(' | ').filter((cell) => cell.trim().length > 3)).toHaveLength(3);
    }
  });
});

describe('docs/api.md', () => {
  const sections = new Map(
    readPage('docs/api.md')
      .split(/^## /m)
      .map((section) => [/^`([^`]+)`/.exec(section)?.[1], section]),
  );

  it.each(ENTRIES.map(([entry]) => entry.replace(/^\./, 'phasegate')))(
    'has every name of %s, and no other',
    (entry) => {
      const file = entry === 'phasegate' ? 'index.ts' : `${entry.replace('phasegate/', '')}/index.ts`;
      const section = sections.get(entry) ?? '';
      const rows = [...section.matchAll(/^\| (`.*?) \| /gm)].map(([, cell = '']) => cell);
      // Of a name and its parameters, the name.
      const named = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
      const members = /^\| member of `Run`[\s\S]*?\n\n/m.exec(section)?.[0] ?? '';
      const outside = new Set([...members.matchAll(/`(\w+)/g)].map(([, name]) => name));
      const exported = exportsOf(join(ROOT, 'src', file));
      expect(exported.filter((name) => !named.includes(name))).toEqual([]);
      expect(named.filter((name) => !exported.includes(name ?? '') && !outside.has(name))).toEqual([]);
    },
  );
});

describe('docs/opentelemetry.md', () => {
  const page = readPage('docs/opentelemetry.md');

  it('has every option, and no other', () => {
    const table = page.split('| option of `otel` |')[1]?.split('\n\n')[0] ?? '';
    const documented = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect([...documented].sort()).toEqual(membersOf('otel/options.ts', 'OtelOptions').sort());
  });

  it('has every name of a metric, an event and an attribute, and no other', () => {
    const named = (text: string) =>
      new Set([...text.matchAll(/['`]((?:phasegate|gen_ai|error)\.[a-z_.]+)['`]/g)].map(([, name]) => name));
    const written = SOURCES.filter(({ name }) => name.startsWith(`otel${sep}`))
      .map(({ text }) => text)
      .join('\n');
    expect([...named(written)].sort()).toEqual([...named(page)].sort());
  });
});

describe('docs/observing.md', () => {
  it('has every event with its fields, and no other', () => {
    const rows = [...readPage('docs/observing.md').matchAll(/^\| `([a-z]+\.[a-z]+)` \| .* \|(.*)\|$/gm)];
    const documented = rows.map(([, type, fields = '']) => [
      type,
      [...fields.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(),
    ]);
    const events = SOURCES.find(({ name }) => name === 'events.ts')?.text ?? '';
    const union = /export type PhasegateEvent =([^;]+);/.exec(events)?.[1] ?? '';
    const told = [...union.matchAll(/\w+/g)].map(([name]) => {
      const [, bases = '', type] =
        new RegExp(`interface ${name} extends (.*) \\{\\n  readonly type: '(.*)'`).exec(events) ?? [];
      const own = membersOf('events.ts', name).filter((member) => member !== 'type');
      const decided = bases.includes('Decided') ? membersOf('events.ts', 'Decided') : [];
      return [type, [...own, ...decided].sort()];
    });
    expect(told.length).toBeGreaterThan(0);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(told));
  });

  it('has every member of an observer, and no other', () => {
    expect(tableIn('docs/observing.md', '## An observer')).toEqual(membersOf('observers.ts', 'Observer'));
  });
});

describe('docs/configuration.md', () => {
  const page = readPage('docs/configuration.md');

  it.each([
    ['rules.ts', 'SupervisorOptions', 'createSupervisor'],
    ['enforcement.ts', 'EnforcementOptions', 'createEnforcement'],
    ['run.ts', 'RunOptions', 'beginRun` and `withRun'],
  ])('has every option of %s, %s, and no other', (file, type, title) => {
    const table = page.split(`| option of \`${title}\` |`)[1]?.split('\n\n')[0] ?? '';
    const documented = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect([...documented].sort()).toEqual(membersOf(file, type).sort());
  });

  it('shows every key of a file', () => {
    const keys = (schema: { properties?: Record<string, object> }): string[] =>
      Object.entries(schema.properties ?? {}).flatMap(([key, child]) => [key, ...keys(child)]);
    const absent = keys(configJsonSchema()).filter(
      (key) => !page.includes(`${key}:`) && !page.includes(`"${key}":`),
    );
    expect(absent).toEqual([]);
  });
});

describe('docs/replay.md', () => {
  it.each(['replay', 'tune'])('has every flag of phasegate %s', (command) => {
    const source = SOURCES.find(({ name }) => name === join('cli', 'commands', `${command}.ts`))?.text ?? '';
    const flags = [...source.matchAll(/\.option\('(?:-\w, )?(--[\w-]+)/g)].map(([, flag = '']) => flag);
    expect(flags.length).toBeGreaterThan(3);
    expect(flags.filter((flag) => !readPage('docs/replay.md').includes(`\`${flag}`))).toEqual([]);
  });

  it('has every exit code', () => {
    const documented = [...readPage('docs/replay.md').matchAll(/^\| (\d+) \|/gm)].map(([, code]) =>
      Number(code),
    );
    expect(documented).toEqual(Object.values(EXIT));
  });

  it('has every format', () => {
    const [, ...names] = tableIn('docs/replay.md', '## Formats');
    expect(names).toEqual(FORMATS.map(({ name }) => name));
  });
});

describe('docs/inspect.md', () => {
  const page = readPage('docs/inspect.md');

  it('has every flag of phasegate inspect', () => {
    const source = SOURCES.find(({ name }) => name === join('cli', 'commands', 'inspect.ts'))?.text ?? '';
    const flags = [...source.matchAll(/\.option\(\s*'(?:-\w, )?(--[\w-]+)/g)].map(([, flag = '']) => flag);
    expect(flags.length).toBeGreaterThan(3);
    expect(flags.filter((flag) => !page.includes(`\`${flag}`))).toEqual([]);
  });

  it.each([
    ['InspectOptions', '| option of `inspectTo` |'],
    ['InspectObserver', '| member |'],
  ])('has every member of %s, and no other', (type, heading) => {
    const table = page.split(heading)[1]?.split('\n\n')[0] ?? '';
    const documented = [...table.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
    expect(documented.sort()).toEqual(membersOf(join('inspect', 'inspect-to.ts'), type).sort());
  });
});

describe('CONTRIBUTING.md', () => {
  it('has every file and folder of the sources on its map', () => {
    const linked = [...readPage('CONTRIBUTING.md').matchAll(/\]\((src\/[^)]+)\)/g)].map(([, path]) => path);
    const present = new Set(SOURCES.map(({ name }) => `src/${name.split(sep)[0]}`));
    expect([...present].filter((path) => !linked.includes(path))).toEqual([]);
  });
});

describe('the documentation', () => {
  it('names no file that is not there', () => {
    for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/getting-started.md', 'docs/replay.md']) {
      const files = [...readPage(page).matchAll(/`((?:src|test|docs|examples|machines)\/[\w./-]+)`/g)];
      expect(files.map(([, file = '']) => file).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    }
  });
});

/** The first cells, in backticks, of the rows below a heading and above the next of its kind. */
function tableIn(page: string, heading: string): (string | undefined)[] {
  const section = readPage(page).split(`${heading}\n`)[1]?.split(/^#+ /m)[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell]) => cell);
}

function refusalCodes(): string[] {
  const decide = SOURCES.find(({ name }) => name === 'decide.ts')?.text ?? '';
  const union = /export type RefusalCode =([^;]+);/.exec(decide)?.[1] ?? '';
  return [...union.matchAll(/'([a-z-]+)'/g)].map(([, code = '']) => code);
}

/** The classes themselves; and what a service answered, whose code is one of the service's. */
const PASS_ON = new Set(['errors.ts', join('restate', 'protocol.ts')]);

/** Refusals, and whatever an error of the package is made with. */
function codesIn(sources: typeof SOURCES): Set<string> {
  const codes = new Set(refusalCodes());
  for (const { name, text } of sources) {
    const made = [
      ...text.matchAll(/new (?:PhasegateError|RunAbortedError)\(\s*'([a-z-]+)'/g),
      ...text.matchAll(/super\(\s*'([a-z-]+)'/g),
      ...text.matchAll(/\bcode: '([a-z-]+)'/g),
      ...text.matchAll(/\? error\.code : '([a-z-]+)'/g),
      ...text.matchAll(/constructor\(code: '([a-z-]+)' \| '([a-z-]+)'/g),
    ];
    for (const [, ...found] of made) for (const code of found) codes.add(code);
    // Each is found by one of these, so none is made in another way unseen.
    const all = text.match(/new (?:PhasegateError|RunAbortedError)\(/g)?.length ?? 0;
    const literal = text.match(/new (?:PhasegateError|RunAbortedError)\(\s*'/g)?.length ?? 0;
    const passedOn = PASS_ON.has(name) ? 0 : all - literal;
    expect(passedOn, `${name} makes an error with a code that is no literal`).toBe(0);
  }
  return codes;
}

/** The names of the members of an interface. */
function membersOf(file: string, type: string): string[] {
  const text = SOURCES.find(({ name }) => name === file)?.text ?? '';
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const found = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === type);
  return (found as ts.InterfaceDeclaration).members.map(({ name }) => name?.getText(source) ?? '');
}

function exportsOf(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return [];
    const { exportClause } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) {
      throw new Error(`${file}: exports without names cannot be listed`);
    }
    return exportClause.elements.map(({ name }) => name.text);
  });
}
