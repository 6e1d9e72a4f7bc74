import { basename } from 'node:path';
import type { PathSegment, Refusal, RunReport } from '../../replay/index.ts';
import type { Rules } from '../../rules.ts';
import { INTERRUPTED } from '../interruption.ts';
import { type Io, type Paint, paintOn, widthOf } from '../io.ts';
import { column, count, figure, printable, wrap } from '../text.ts';

// Of more runs than this the refused ones alone are listed.
const LIST_ALL = 40;

/** What the runs were held to. */
export interface SummaryOptions {
  readonly rules: Rules;
  /** Whether the rules are enforced at all (SPEC §7). */
  readonly enforced: boolean;
  /** Whether runs go on after a refusal. */
  readonly all: boolean;
}

/** What a person is told of a replay: a line a run, what was refused, and the totals. */
export class Summary {
  readonly #paint: Paint;
  readonly #width: number;
  readonly #rules: Rules;
  readonly #enforced: boolean;
  readonly #all: boolean;
  // Held back until it is known whether there are too many to list them all.
  #held: RunReport[] | undefined = [];
  #nameWidth = 0;
  #file: string | undefined;
  #runs = 0;
  #calls = 0;
  #failed = 0;
  #refusals = 0;
  #withoutCalls = 0;
  #listed = 0;
  readonly #verdicts = new Map<string, number>();

  constructor(io: Io, { rules, enforced, all }: SummaryOptions) {
    this.#paint = paintOn(io.stdout, io.env);
    this.#width = widthOf(io.stdout);
    this.#rules = rules;
    this.#enforced = enforced;
    this.#all = all;
  }

  /** @returns The lines that can be printed now. */
  add(report: RunReport): string[] {
    this.#count(report);
    if (this.#held === undefined) return isRefused(report) ? this.#lines(report) : [];
    this.#held.push(report);
    return this.#held.length > LIST_ALL ? this.#release(isRefused) : [];
  }

  /**
   * @param faults How many pieces of input could not be read.
   * @returns The last lines.
   */
  end(faults: number, interrupted: boolean): string[] {
    const held = this.#held === undefined ? [] : this.#release(() => true);
    return [...held, ...(this.#file === undefined ? [] : ['']), ...this.#totals(faults, interrupted)];
  }

  #count({ verdict, calls, failed, refused }: RunReport): void {
    this.#runs += 1;
    this.#calls += calls;
    this.#failed += failed;
    this.#refusals += refused;
    if (calls === 0) this.#withoutCalls += 1;
    this.#verdicts.set(verdict, (this.#verdicts.get(verdict) ?? 0) + 1);
  }

  #release(wanted: (report: RunReport) => boolean): string[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    // What is left beside the figures and the verdict. Runs that are still to come may have longer names.
    const room = Math.max(12, this.#width - 50);
    const longest = Math.max(...held.map((report) => nameOf(report).length), 12);
    this.#nameWidth = held.length > LIST_ALL ? room : Math.min(longest, room);
    return held.filter(wanted).flatMap((report) => this.#lines(report));
  }

  #lines(report: RunReport): string[] {
    const lines: string[] = [];
    this.#listed += 1;
    if (this.#file === undefined) {
      const head = `  ${column('run', this.#nameWidth)}    calls  failed   steps  verdict`;
      lines.push(this.#paint('dim', head));
    }
    if (this.#file !== report.file && !isNamedByFile(report))
      lines.push(this.#paint('bold', printable(report.file)));
    this.#file = report.file;
    const figures = [report.calls, report.failed, report.stepCount].map((value) => figure(value, 8)).join('');
    const mark = isRefused(report) ? this.#paint('red', '✗') : this.#paint('green', '✓');
    lines.push(`${mark} ${column(nameOf(report), this.#nameWidth)} ${figures}  ${this.#verdict(report)}`);
    if (report.firstRefusal !== null) lines.push(...this.#details(report.firstRefusal, report.file));
    return lines;
  }

  #verdict({ firstRefusal, refused }: RunReport): string {
    if (firstRefusal === null) return this.#paint('green', 'allowed');
    const more = this.#all ? `, ${figure(refused)} refused` : '';
    return `${this.#paint('red', printable(firstRefusal.code))} at call ${figure(firstRefusal.seq)}${more}`;
  }

  #details({ tool, message, file, line, path }: Refusal, begun: string): string[] {
    const place = file === begun ? `line ${line}` : `${basename(file)}, line ${line}`;
    const where = line === null ? '' : printable(` (${place})`);
    const indent = '    ';
    return [
      ...wrap(printable(`${tool}${where}: ${message}`), this.#width, indent),
      ...wrap(printable(pathText(path)), this.#width, indent).map((text) => this.#paint('dim', text)),
    ];
  }

  #totals(faults: number, interrupted: boolean): string[] {
    const { maxSteps, maxLoopsPerPhase } = this.#rules;
    const allowed = this.#verdicts.get('allowed') ?? 0;
    const refused = [...this.#verdicts]
      .filter(([verdict]) => verdict !== 'allowed')
      .sort(([, a], [, b]) => b - a);
    const byCode = refused.map(([code, runs]) => `${figure(runs)} ${printable(code)}`).join(', ');
    const parts = [
      this.#paint('bold', count(this.#runs, 'run')),
      this.#paint(allowed > 0 ? 'green' : 'dim', `${figure(allowed)} allowed`),
      refused.length === 0
        ? this.#paint('dim', '0 refused')
        : this.#paint('red', `${figure(this.#runs - allowed)} refused (${byCode})`),
    ];
    const calls = [count(this.#calls, 'call'), `${figure(this.#failed)} failed`];
    if (this.#all) calls.push(count(this.#refusals, 'refusal'));
    return [
      parts.join('   '),
      [...calls, `under maxSteps ${maxSteps}, maxLoopsPerPhase ${maxLoopsPerPhase}`].join('   '),
      ...(this.#enforced
        ? []
        : [this.#paint('yellow', 'the dfa check is not enabled: no budget is enforced, and no table')]),
      ...(this.#listed === this.#runs
        ? []
        : [
            this.#paint(
              'dim',
              `of more than ${LIST_ALL} runs only those that are refused have a line; --json has all`,
            ),
          ]),
      ...(this.#withoutCalls === 0
        ? []
        : [`${count(this.#withoutCalls, 'run holds', 'runs hold')} no tool call`]),
      ...(faults === 0
        ? []
        : [this.#paint('yellow', `${count(faults, 'piece')} of input could not be read`)]),
      ...(interrupted ? [this.#paint('yellow', INTERRUPTED)] : []),
    ];
  }
}

function isRefused({ verdict }: RunReport): boolean {
  return verdict !== 'allowed';
}

// A run that is all of its file is called by the file.
function isNamedByFile({ file, run }: RunReport): boolean {
  return run === basename(file);
}

function nameOf(report: RunReport): string {
  return printable(isNamedByFile(report) ? report.file : report.run);
}

/** The path in one line: `IDLE → PLANNING → ACTING → (OBSERVING → PLANNING → ACTING) ×5`. */
function pathText(path: readonly PathSegment[]): string {
  return path
    .map(({ phases, times }) => {
      if (phases.length === 0) return '…';
      const hops = phases.join(' → ');
      if (times === 1) return hops;
      return phases.length === 1 ? `${hops} ×${times}` : `(${hops}) ×${times}`;
    })
    .join(' → ');
}
