/** The yardstick: what node:http itself can do, with five bytes and nothing else. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from './cleanup.ts';

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 5 });
  response.end('hello');
});

answerParent(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
});
