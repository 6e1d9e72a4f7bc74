import { invalidArgument } from '../errors.ts';

/** Where events are sent: the address that `phasegate inspect` prints, taken apart. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

/** The names of this machine for itself. */
export const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];
const TOKEN = /^[\w-]{16,200}$/;

/**
 * @param name What it is the value of.
 * @throws {PhasegateError} `invalid-argument`: the server answers on its own machine only, and to its token.
 */
export function readAddress(name: string, given: unknown): Address {
  const text = given instanceof URL ? given.href : given;
  if (typeof text !== 'string' || !URL.canParse(text)) throw noAddress(name, given);
  const { protocol, hostname, port, searchParams } = new URL(text);
  const token = searchParams.get('token') ?? '';
  if (protocol !== 'http:' || !LOOPBACK.includes(hostname) || !TOKEN.test(token))
    throw noAddress(name, given);
  return { host: hostname, port: port === '' ? 80 : Number(port), token };
}

function noAddress(name: string, given: unknown) {
  const text = given instanceof URL ? given.href : given;
  return invalidArgument(
    name,
    'the address that phasegate inspect prints, as in http://127.0.0.1:4983/?token=…',
    // An error is logged, and a token in a log is read by others.
    typeof text === 'string' ? text.replace(/(token=)[^&#]+/gi, '$1…') : text,
  );
}
