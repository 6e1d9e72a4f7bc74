/** A step that was asked for, and the hands that answer it. */
interface Step<T> {
  resolve(result: IteratorResult<T>): void;
  reject(error: unknown): void;
}

/**
 * Hands an iterable that is made inside of a call on to whoever iterates outside of it: each step that is asked for there is
 * taken here, so that what the iterable does, it does as the body of the call.
 */
export class Relay<T> implements AsyncIterableIterator<T> {
  readonly #steps: Step<T>[] = [];
  #wake: (() => void) | undefined;
  #left = false;
  #over: (() => Promise<IteratorResult<T>>) | undefined;

  /**
   * Takes the steps, in the body of the call.
   *
   * @param signal Of the call: when it is aborted, nobody may be there any more who asks for a step.
   * @returns The last piece.
   * @throws (rejects) What the iterable throws; and an error when nobody wants the rest.
   */
  async drain(source: AsyncIterable<T>, signal: AbortSignal): Promise<T | undefined> {
    const iterator = source[Symbol.asyncIterator]();
    const onAbort = () => this.#leave();
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    try {
      return await this.#drain(iterator);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #drain(iterator: AsyncIterator<T>): Promise<T | undefined> {
    let last: T | undefined;
    for (;;) {
      const step = await this.#nextStep();
      if (step === undefined) {
        await iterator.return?.();
        throw new Error('The result of the call was not read to its end');
      }
      let result: IteratorResult<T>;
      try {
        result = await iterator.next();
      } catch (error) {
        step.reject(error);
        throw error;
      }
      step.resolve(result);
      if (result.done) return last;
      last = result.value;
    }
  }

  /** The call is over, or has been refused: then so has whoever asks. */
  close(error?: { readonly error: unknown }): void {
    this.#over = error
      ? () => Promise.reject(error.error)
      : () => Promise.resolve({ done: true, value: undefined });
    for (const step of this.#steps.splice(0)) this.#over().then(step.resolve, step.reject);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#over !== undefined) return this.#over();
    return new Promise((resolve, reject) => {
      this.#steps.push({ resolve, reject });
      this.#wake?.();
    });
  }

  async return(value?: unknown): Promise<IteratorResult<T>> {
    this.#leave();
    return { done: true, value };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #leave(): void {
    this.#left = true;
    this.#wake?.();
  }

  async #nextStep(): Promise<Step<T> | undefined> {
    while (this.#steps.length === 0 && !this.#left) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#left ? undefined : this.#steps.shift();
  }
}
