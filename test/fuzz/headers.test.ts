import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { ADMIN_KEY, BETA } from '../support/server.ts';
import { assertLogClean, assertRefused, type Bytes, CANARY, exchange, startTarget, type Target } from './wire.ts';

const LIST = '/v1/memory_stores';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** Header lines that make any request unacceptable, with the status that says so. */
const LINES: [status: number, ...lines: Bytes[]][] = [
  [401, 'x-api-key:'],
  [401, `x-api-key: ${CANARY}`],
  [401, `x-api-key: ${ADMIN_KEY}x`],
  [401, `x-api-key: ${ADMIN_KEY.toUpperCase()}`],
  [401, `x-api-key: ${ADMIN_KEY}, ${ADMIN_KEY}`],
  [401, `x-api-key: ${CANARY}`, `x-api-key: ${ADMIN_KEY}`],
  [401, latin1(`x-api-key: ${CANARY}\xff\xe9`)],
  [401, `x-api-key: 🔑${CANARY}`],
  [401, `x-api-key: ${'k'.repeat(10_000)}`],
  [401, `x-api-key: ${CANARY}`, `authorization: ${ADMIN_KEY}`],
  [401, `x-api-key: ${CANARY}`, `authorization: Basic ${Buffer.from(`:${ADMIN_KEY}`).toString('base64')}`],
  [401, `x-api-key: ${CANARY}`, `authorization: Bearer ${CANARY} ${ADMIN_KEY}`],
  [401, `x-api-key: ${CANARY}`, `authorization: Bearer${ADMIN_KEY}`],
  [401, `x-api-key: ${CANARY}`, 'authorization: Bearer'],
  [401, `x-api-key: ${CANARY}`, `cookie: x-api-key=${ADMIN_KEY}`],
  [404, 'anthropic-beta:'],
  [404, `anthropic-beta: ${CANARY}`],
  [404, `anthropic-beta: ${BETA.toUpperCase()}`],
  [404, `anthropic-beta: ${BETA}x`],
  [404, `anthropic-beta: ${BETA};${CANARY}`],
  [404, `anthropic-beta: ${'a,'.repeat(5000)}`],
  [404, latin1(`anthropic-beta: ${BETA}\xa0x`)],
  [400, `anthropic-beta: ${BETA}, managed-agents-2026-04-01`],
  [400, `anthropic-beta: ${BETA}`, 'anthropic-beta: managed-agents-2026-04-01'],
  [404, 'anthropic-workspace-id:'],
  [404, `anthropic-workspace-id: ${CANARY}`],
  [404, `anthropic-workspace-id: wrkspc_01${'1'.repeat(22)}`],
  [404, latin1('anthropic-workspace-id: wrkspc_\xff')],
  [404, 'anthropic-workspace-id: a', 'anthropic-workspace-id: b'],
  [400, `${CANARY}`],
  [400, `: ${CANARY}`],
  [400, `x y: ${CANARY}`],
  [400, latin1(`x\xff: ${CANARY}`)],
  [400, `x-a: ${CANARY}\0`],
  [400, `x-a: ${CANARY}\r${CANARY}`],
  [400, `x-a: ${CANARY}\n x-b: ${CANARY}`],
  [400, `x-a: ${'a'.repeat(20_000)}`],
  [400, ...Array.from({ length: 2000 }, (_, i) => `x-${i}: ${CANARY}`)],
];

/** What is not a request at all. */
const NO_REQUESTS: [string, Bytes][] = [
  ['a TLS greeting', Buffer.from('16030100a5010000a10303', 'hex')],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/0.9', `GET ${LIST}\r\n\r\n`],
  ['an unknown version', `GET ${LIST} HTTP/9.9\r\nhost: a\r\n\r\n`],
  ['no version', `GET ${LIST} \r\nhost: a\r\n\r\n`],
  ['an unknown method', `${CANARY} ${LIST} HTTP/1.1\r\nhost: a\r\n\r\n`],
  ['a lower-case method', `get ${LIST} HTTP/1.1\r\nhost: a\r\n\r\n`],
  ['no host', `GET ${LIST} HTTP/1.1\r\nx-api-key: ${ADMIN_KEY}\r\nconnection: close\r\n\r\n`],
  ['a space in the target', `GET ${LIST} ${CANARY} HTTP/1.1\r\nhost: a\r\n\r\n`],
  ['zeros', Buffer.alloc(200)],
  ['bytes of all values', Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i))],
  ['a line without an end', 'x'.repeat(100_000)],
  ['JSON', `{"key":"${CANARY}"}\r\n\r\n`],
  ['an SSH greeting', `SSH-2.0-${CANARY}\r\n`],
];

for (const engine of ENGINES)
  describe(`hostile headers on ${engine.name}`, { skip: engine.skip }, () => {
    let target: Target;
    let held: unknown;
    before(async () => {
      target = await startTarget(engine);
    });
    after(() => target.stop());
    beforeEach(async () => {
      target.server.log.length = 0;
      held = await target.state();
    });
    afterEach(async () => {
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    test('a request with one bad header reads and changes nothing', async () => {
      for (const [status, ...headers] of LINES) {
        const label = headers.map((line) => Buffer.from(line as string).toString('latin1')).join(' | ');
        for (const request of [
          { target: LIST },
          { method: 'POST', target: LIST, body: `{"name":"${CANARY}"}` },
          { method: 'DELETE', target: target.store },
          { method: 'POST', target: `${target.store}/archive` },
        ]) {
          const answer = await target.send({ ...request, headers });
          assertRefused(answer, label.slice(0, 200));
          assert.equal(answer.status, status, label.slice(0, 200));
          assert.ok(!JSON.stringify(answer.body).includes(target.storeId));
        }
      }
    });

    test('what is not an HTTP request gets an answer and the door', async () => {
      for (const [name, bytes] of NO_REQUESTS) {
        assertRefused(await exchange(target.server.url, bytes), name);
      }
    });

    test('a method that an endpoint does not have changes nothing, whatever other headers ask for', async () => {
      for (const method of ['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'QUERY', 'DELETE']) {
        const answer = await target.send({ method, target: LIST, body: `{"name":"${CANARY}"}` });
        assertRefused(answer, method);
        assert.equal(answer.status, 405, method);
        assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), ['GET', 'POST'], method);
      }
      for (const method of ['PROPFIND', 'LOCK', 'PURGE', 'M-SEARCH', 'COPY'])
        assertRefused(await target.send({ method, target: target.store }), method);
      for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-url']) {
        const answer = await target.send({ target: target.store, headers: [`${name}: DELETE`] });
        assert.equal(answer?.status, 200, name);
      }
    });

    test('headers that promise something else are not believed', async () => {
      const odd: Bytes[][] = [
        ['x-stainless-retry-count: NaN'],
        ['x-stainless-retry-count: 1e999'],
        ['x-stainless-retry-count: -1', 'x-stainless-retry-count: 9'],
        ['anthropic-version: 1999-01-01'],
        [`user-agent: ${CANARY}`, `referer: ${CANARY}`, `x-forwarded-for: ${CANARY}`, `request-id: ${CANARY}`],
        ['upgrade: websocket', 'connection: upgrade, close', 'sec-websocket-version: 13', 'sec-websocket-key: x'],
        ['upgrade: h2c', 'connection: upgrade, http2-settings, close', 'http2-settings: AAMAAABkAAQAAP__'],
        ['range: bytes=0-1', 'if-none-match: *', 'if-match: "x"', 'accept: text/html', 'accept-encoding: gzip, br'],
      ];
      for (const headers of odd) {
        const answer = await target.send({ target: target.store, headers });
        const label = headers.join(' | ');
        assert.equal(answer?.status, 200, label);
        assert.equal(answer.body.id, target.storeId, label);
        assert.match(answer.headers.get('request-id') ?? '', /^req_01/, label);
        assert.equal(answer.headers.get('content-encoding'), undefined, label);
      }
      // A made-up retry does not turn a conflict into a success for another text.
      const body = '{"path":"/a.md","content":"three"}';
      const answer = await target.send({
        method: 'POST',
        target: `${target.store}/memories`,
        headers: ['x-stainless-retry-count: 1'],
        body,
      });
      assertRefused(answer, 'a made-up retry');
      assert.equal(answer.body.error.type, 'memory_path_conflict_error');
    });

    test('an expectation that the server does not meet is refused in the wire form', async () => {
      const body = `{"name":"${CANARY}"}`;
      const answer = await target.send({ method: 'POST', target: LIST, headers: [`expect: ${CANARY}`], body });
      assertRefused(answer, 'expect');
    });

    test('a second request behind a broken one is not served', async () => {
      const archive = `POST ${target.store}/archive HTTP/1.1\r\nhost: a\r\nx-api-key: ${ADMIN_KEY}\r\nanthropic-beta: ${BETA}\r\n\r\n`;
      // Both framings at once: a proxy and the server could see different requests.
      const smuggled = `POST ${LIST} HTTP/1.1\r\nhost: a\r\nx-api-key: ${ADMIN_KEY}\r\nanthropic-beta: ${BETA}\r\ncontent-type: application/json\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${archive}`;
      assertRefused(await exchange(target.server.url, smuggled), 'both framings');
      assertRefused(await exchange(target.server.url, `GARBAGE\r\n\r\n${archive}`), 'garbage first');
    });
  });
