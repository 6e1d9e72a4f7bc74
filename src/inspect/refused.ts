import type { Fault } from './protocol.ts';

/** A request that is answered with a {@link Fault}. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  toFault(): Fault {
    return { error: { code: this.code, message: this.message } };
  }
}
