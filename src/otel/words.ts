/** Texts that come from models, tools and users, as telemetry can bear them: short, and in metrics few. */
import type { RefusalCode } from '../decide.ts';

const NAME_LENGTH = 100;
const TEXT_LENGTH = 500;

/**
 * The beginning of a text, with a mark where it was cut. Half a character, as a model may write one, would make a collector
 * refuse all that comes with it.
 */
export function cut(text: string, length: number): string {
  const short = text.length <= length ? text : `${text.slice(0, length - 1)}…`;
  return short.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A name or an id. */
export function shortName(name: string): string {
  return cut(name, NAME_LENGTH);
}

/** A message or a reason. */
export function shortText(text: string): string {
  return cut(text, TEXT_LENGTH);
}

/** What stands for all names for which there is no room. */
const OTHER = '_other';

/** Names that may become values of a metric's attribute: the first so many. */
export class FewNames {
  readonly #limit: number;
  readonly #known = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The name itself while there is room for it. */
  admit(name: string): string {
    const short = shortName(name);
    if (this.#known.size < this.#limit) this.#known.add(short);
    return this.#known.has(short) ? short : OTHER;
  }

  /** The name itself if it has been admitted. */
  find(name: string): string {
    const short = shortName(name);
    return this.#known.has(short) ? short : OTHER;
  }
}

// Each is written out, so that the compiler tells of one that is missing.
const OWN_CODES: Readonly<Record<RefusalCode, true>> = {
  'step-budget': true,
  'loop-budget': true,
  'terminal-phase': true,
  'illegal-transition': true,
  'action-unreachable': true,
  'unknown-phase': true,
  'call-in-flight': true,
  'run-completed': true,
  'no-active-run': true,
  'check-refused': true,
  'check-failed': true,
  'wait-timeout': true,
  'depth-exceeded': true,
  'observer-failed': true,
  'actor-disagrees': true,
};

/** Whether the package gives this code, so that there are few of its kind; a check may give any. */
export function isOwnCode(code: string): code is RefusalCode {
  return Object.hasOwn(OWN_CODES, code);
}

/** The `error.type` of a refusal: the code, if it is one of the package's own. */
export function refusalType(code: string): RefusalCode {
  return isOwnCode(code) ? code : 'check-refused';
}

/** The `error.type` of what a body threw: the name of its class. */
export function thrownType(error: unknown): string {
  try {
    const name: unknown = error instanceof Error ? error.name : undefined;
    if (typeof name === 'string' && /^[A-Za-z_$][\w$.]{0,99}$/.test(name)) return name;
  } catch {
    // A getter or a proxy threw: then nothing is known of it.
  }
  return '_OTHER';
}
