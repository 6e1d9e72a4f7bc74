/** Who may ask: the page, and senders that hold the token, both on this machine. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LOOPBACK } from './address.ts';
import { Refused } from './refused.ts';

/** A token that nobody guesses. */
export function newToken(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Checks that a request is made to this machine by name, and not by a page of another origin: the name of a site of somebody
 * else may be made to lead here (DNS rebinding).
 *
 * @throws {Refused}
 */
export function checkOrigin({ headers, socket }: IncomingMessage): void {
  // As a browser writes it, which leaves port 80 out.
  const hosts = LOOPBACK.map((name) => new URL(`http://${name}:${socket.localPort}`).host);
  const host = headers.host?.toLowerCase() ?? '';
  if (!hosts.includes(host)) {
    throw new Refused(403, 'wrong-host', `The Host of a request must be one of ${hosts.join(', ')}`);
  }
  const { origin } = headers;
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new Refused(403, 'wrong-origin', 'Pages of another origin may ask nothing here');
  }
}

/**
 * Checks that a request brings the token, in its address or as `Authorization: Bearer`.
 *
 * @throws {Refused}
 */
export function checkToken({ headers }: IncomingMessage, url: URL, token: string): void {
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const given = bearer ?? url.searchParams.get('token');
  if (given === null) {
    throw new Refused(
      401,
      'no-token',
      'The token is missing: use the address that phasegate inspect has printed',
    );
  }
  if (!timingSafeEqual(digest(given), digest(token))) {
    throw new Refused(
      401,
      'wrong-token',
      'The token is another one: use the address that phasegate inspect has printed',
    );
  }
}

// Of one length, whatever was given.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
