import { messageOf } from '../describe.ts';
import { PhasegateError } from '../errors.ts';
import { type Answer, type AnswerThat, type Question, type Requests, readAnswer } from './protocol.ts';

/** How an answer is got. */
export interface AskOptions {
  /** What tells a repeated request from another one. Without it a request is one that may be made twice. */
  readonly once?: string | undefined;
  /** How long to go on asking; `Infinity` for no limit. */
  readonly withinMs: number;
  /** Stops asking. */
  readonly signal?: AbortSignal | undefined;
}

/** Not registered yet, too slow, too early, too many. Anything else from 400 to 499 is final. */
const TRANSIENT = new Set([404, 408, 425, 429]);
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1000;
const MOST_TIMER_MS = 2 ** 31 - 1;

/** Restate's HTTP ingress, through which agents ask the object that holds their run. */
export class Ingress {
  readonly #url: string;
  readonly #object: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;

  constructor(url: string, object: string, headers: Readonly<Record<string, string>>, fetchIt: typeof fetch) {
    this.#url = url.replace(/\/+$/, '');
    this.#object = encodeURIComponent(object);
    this.#headers = headers;
    this.#fetch = fetchIt;
  }

  /**
   * Asks, once more for as long as there is no answer, and reads the answer.
   *
   * @throws {PhasegateError} (rejects) `enforcement-unreachable` when there is none in time, `answer-unreadable` when it is
   *   none that was expected, or the fault that the object answered.
   */
  async ask<Name extends Question, Kind extends Answer['is']>(
    root: string,
    name: Name,
    request: Requests[Name],
    expected: readonly Kind[],
    options: AskOptions,
  ): Promise<AnswerThat<Kind>> {
    const url = `${this.#url}/${this.#object}/${encodeURIComponent(root)}/${name}`;
    const body = JSON.stringify(request);
    const until = performance.now() + options.withinMs;
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      const tried = await this.#try(url, body, until - performance.now(), options);
      if ('answer' in tried) return readAnswer(tried.answer, expected);
      // Many clients that lost the same service are not to come back all at once.
      const waitMs = pause * (0.5 + Math.random());
      if (tried.final || options.signal?.aborted || performance.now() + waitMs >= until) {
        throw unreachable(url, options, tried.failure);
      }
      await sleep(waitMs, options.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  async #try(url: string, body: string, left: number, { once, signal }: AskOptions): Promise<Tried> {
    const attempt = new AbortController();
    if (signal?.aborted) attempt.abort(signal.reason);
    const stop = () => attempt.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const timer = left <= MOST_TIMER_MS ? setTimeout(() => attempt.abort(), left) : undefined;
    try {
      const response = await this.#fetch(url, {
        method: 'POST',
        headers: {
          ...this.#headers,
          'content-type': 'application/json',
          ...(once === undefined ? {} : { 'idempotency-key': once }),
        },
        body,
        signal: attempt.signal,
      });
      const text = await response.text();
      if (response.ok) return { answer: parsed(text) };
      const final = response.status < 500 && !TRANSIENT.has(response.status);
      return { failure: `${response.status} ${text.slice(0, 200)}`, final };
    } catch (error) {
      return { failure: attempt.signal.aborted ? 'no answer' : reasonOf(error), final: false };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

type Tried = { readonly answer: unknown } | { readonly failure: string; readonly final: boolean };

function unreachable(url: string, { withinMs, signal }: AskOptions, latest: string): PhasegateError {
  const within = signal?.aborted ? 'until the run ended' : `within ${withinMs} ms`;
  return new PhasegateError('enforcement-unreachable', `No answer from ${url} ${within}: ${latest}`);
}

/** `fetch` says "fetch failed", and why only in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}

/** What is no JSON is an answer that cannot be read. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
}
