import type { PhasegateEvent } from '../events.ts';
import { toJson } from './json.ts';
import type { AuditLogOptions, CapturedValue } from './options.ts';

/** A record of an audit log: an event, without what nobody asked to have in it. */
export type Fields = Readonly<Record<string, unknown>>;

/** Takes from events what may be private, and puts back what was asked for. */
export class Capture {
  readonly #kinds: ReadonlySet<string>;
  readonly #redact: AuditLogOptions['redact'];
  readonly #maxValueBytes: number;
  /** How many values were left out because `redact` failed. */
  withheld = 0;

  constructor({ capture = {}, redact, maxValueBytes = 65_536 }: AuditLogOptions) {
    const { args, results, errors } = capture;
    this.#kinds = new Set([
      ...(args ? ['args'] : []),
      ...(results ? ['result'] : []),
      ...(errors ? ['error'] : []),
    ]);
    this.#redact = redact;
    this.#maxValueBytes = maxValueBytes;
  }

  get results(): boolean {
    return this.#kinds.has('result');
  }

  recordOf(event: PhasegateEvent): Fields {
    switch (event.type) {
      case 'call.started':
      case 'call.refused': {
        const rest = { ...event, args: undefined };
        return this.#kinds.has('args') ? this.#with(rest, 'args', event.args) : rest;
      }
      case 'call.ended': {
        const { error, result } = event;
        // What is undefined is not written. To copy all is quicker than to copy the rest.
        const rest = { ...event, error: undefined, result: undefined };
        const kind = event.ok ? 'result' : 'error';
        return this.#kinds.has(kind) ? this.#with(rest, kind, event.ok ? result : error) : rest;
      }
      default:
        return event as PhasegateEvent & Fields;
    }
  }

  #with(
    rest: { readonly tool: string; readonly run: string | null; readonly call: string | null },
    kind: CapturedValue['kind'],
    value: unknown,
  ): Fields {
    const { tool, run, call } = rest;
    let written = value;
    if (this.#redact !== undefined) {
      try {
        written = this.#redact(value, { kind, tool, run, call });
        if (typeof (written as PromiseLike<unknown> | null | undefined)?.then === 'function') {
          Promise.resolve(written).catch(() => {});
          throw new TypeError('a promise is no value yet');
        }
      } catch {
        // What was to be hidden is not known, so all of it is.
        this.withheld += 1;
        return { ...rest, leftOut: { [kind]: 'redact failed' } };
      }
    }
    if (written === undefined) return rest;
    const made = toJson(written, this.#maxValueBytes);
    return 'json' in made
      ? { ...rest, [kind]: JSON.parse(made.json) as unknown }
      : { ...rest, leftOut: { [kind]: made.leftOut } };
  }
}
