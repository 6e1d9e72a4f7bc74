import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** Stands in for a collector: takes what exporters send over OTLP/HTTP, and keeps it as it came. */
export async function collector() {
  const received = new Map<string, string[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      const path = request.url ?? '';
      received.set(path, [...(received.get(path) ?? []), body.toString()]);
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    /** The bodies that came to a path since it was last asked. */
    take(path: string): string[] {
      const bodies = received.get(path) ?? [];
      received.delete(path);
      return bodies;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
