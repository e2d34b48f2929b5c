import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, ENGINES } from '../support/engines.ts';
import { ADMIN_KEY, BETA, mneme, spawnServer, startInProcess, type TestServer } from '../support/server.ts';

const CANARY = 'canary-7f3a91';

for (const engine of ENGINES)
  describe(`operation on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let server: TestServer;
    before(async () => {
      database = await engine.create();
      server = await startInProcess(database, { patience: { request: 1000, idle: 3000, keepAlive: 1000 } });
    });
    after(async () => {
      await server.stop();
      await database.drop();
    });

    test('health, readiness, metrics and the document need no key', async () => {
      const get = (path: string) => server.call('GET', path, { key: null, beta: null });
      assert.deepEqual((await get('/healthz')).body, { status: 'ok' });
      assert.deepEqual((await get('/readyz')).body, { status: 'ready' });
      const document = (await get('/openapi.json')).body;
      assert.equal(document.openapi, '3.1.0');
      await server.call('GET', `/v1/memory_stores/${CANARY}`);
      const metrics = (await get('/metrics')).body as string;
      assert.match(metrics, new RegExp(`mneme_info\\{version="[^"]+",engine="${engine.name}"\\} 1`));
      assert.match(
        metrics,
        /mneme_http_request_duration_seconds_count\{method="GET",route="\/v1\/memory_stores\/:memory_store_id",status="404"\} \d/,
      );
      assert.ok(!metrics.includes(CANARY));
    });

    test('one log line a request, with names and numbers and never a path, query, body or key', async () => {
      server.log.length = 0;
      const created = await server.call('POST', '/v1/memory_stores', { body: { name: CANARY, description: CANARY } });
      const memories = `/v1/memory_stores/${created.body.id}/memories`;
      await server.call('POST', memories, { body: { path: `/${CANARY}`, content: CANARY } });
      await server.call('POST', memories, { body: { path: `/${CANARY}/below`, content: CANARY } });
      await server.call('GET', `${memories}?path_prefix=/${CANARY}/`);
      await server.call('GET', `/${CANARY}?${CANARY}`);
      await server.call('POST', memories, { body: `{"path": "${CANARY}` });
      await server.call('GET', memories, { key: `sk-mneme-${CANARY}` });
      await sleep(50);
      assert.ok(!server.log.join('').includes(CANARY));
      assert.ok(!server.log.join('').includes(ADMIN_KEY));
      const lines = server.log.map((line) => JSON.parse(line)).filter((line) => line.msg === 'request');
      assert.deepEqual(
        lines.map((line) => [line.method, line.route, line.status]),
        [
          ['POST', '/v1/memory_stores', 200],
          ['POST', '/v1/memory_stores/:memory_store_id/memories', 200],
          ['POST', '/v1/memory_stores/:memory_store_id/memories', 409],
          ['GET', '/v1/memory_stores/:memory_store_id/memories', 200],
          ['GET', 'unmatched', 404],
          ['POST', '/v1/memory_stores/:memory_store_id/memories', 400],
          ['GET', '/v1/memory_stores/:memory_store_id/memories', 401],
        ],
      );
      assert.equal(lines[0].request_id, created.headers.get('request-id'));
      assert.equal(lines[0].workspace_id, server.server.world.defaultWorkspaceId);
      assert.match(lines[0].key_id, /^apikey_/);
      assert.ok(lines[0].duration_ms > 0);
    });

    test('a fault of the server answers 500 with its request id and logs no memory text', async () => {
      const { memories } = server.server.world.storage;
      const get = memories.get;
      const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
      server.log.length = 0;
      memories.get = () => {
        throw Object.assign(new SyntaxError(CANARY), { detail: CANARY, parameters: [CANARY] });
      };
      try {
        const answer = await server.call('GET', `/v1/memory_stores/${store.id}/memories/mem_01x`);
        assert.equal(answer.status, 500);
        assert.equal(answer.body.error.type, 'api_error');
        assert.ok(!JSON.stringify(answer.body).includes(CANARY));
        const line = server.log.map((text) => JSON.parse(text)).find((each) => each.level === 'error');
        assert.equal(line.request_id, answer.body.request_id);
        assert.equal(line.err.type, 'SyntaxError');
        assert.ok(!server.log.join('').includes(CANARY));
      } finally {
        memories.get = get;
      }
    });

    test('readiness fails when the database does not answer', async () => {
      const { storage } = server.server.world;
      const ping = storage.ping;
      storage.ping = () => new Promise(() => {});
      try {
        const answer = await server.call('GET', '/readyz', { key: null });
        assert.equal(answer.status, 503);
      } finally {
        storage.ping = ping;
      }
    });

    test('a body over the limit answers 413, one at the limit of text passes', async () => {
      const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
      const memories = `/v1/memory_stores/${store.id}/memories`;
      const large = await server.call('POST', memories, { body: { path: '/a', content: 'x'.repeat(1_048_577) } });
      assert.equal(large.status, 413);
      assert.equal(large.body.error.type, 'request_too_large');
      // The worst escaping: six bytes of JSON for each byte of text.
      const escaped = `{"path": "/b", "content": "${'\\u0001'.repeat(102_400)}"}`;
      const answer = await server.call('POST', memories, { body: escaped });
      assert.equal(answer.status, 200);
      assert.equal(answer.body.content_size_bytes, 102_400);
    });

    test('a client that sends too slowly is answered 408 and cut off', async () => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.write(
        `POST /v1/memory_stores HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\nanthropic-beta: ${BETA}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"na`,
      );
      let text = '';
      socket.on('data', (data) => {
        text += data;
      });
      await once(socket, 'close');
      assert.match(text, /^HTTP\/1.1 408 /);
      assert.match(text, /"type":"timeout_error"/);
      assert.match(text, /request-id: req_/);
    });

    test('a client that sends half a header, nothing, or no HTTP is cut off', async () => {
      for (const start of ['GET / HTTP/1.1\r\nhos', '', 'nonsense\r\n\r\n']) {
        const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
        socket.on('error', () => {});
        if (start !== '') socket.write(start);
        socket.resume();
        await once(socket, 'close');
      }
      assert.equal((await server.call('GET', '/healthz')).status, 200);
    });

    test('a client that stops reading is cut off and the rest are served', async () => {
      const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
      const memories = `/v1/memory_stores/${store.id}/memories`;
      for (let i = 0; i < 20; i++)
        await server.call('POST', memories, { body: { path: `/${i}`, content: 'x'.repeat(102_400) } });
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.on('error', () => {});
      const request = `GET ${memories}?view=full HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\nanthropic-beta: ${BETA}\r\n\r\n`;
      for (let i = 0; i < 10; i++) socket.write(request);
      socket.pause();
      const connections = () =>
        new Promise<number>((resolve) => server.server.app.server.getConnections((_, count) => resolve(count)));
      // Idle connections of other tests end by themselves within a second.
      while ((await connections()) > 0) {
        assert.equal((await server.call('GET', '/healthz', { headers: { connection: 'close' } })).status, 200);
        await sleep(100);
      }
      socket.destroy();
    });

    test('what is not JSON, or has another type, is refused with a sentence', async () => {
      const send = (body: string, type?: string) =>
        server.call('POST', '/v1/memory_stores', { body, headers: type ? { 'content-type': type } : {} });
      assert.match((await send('name=x', 'application/x-www-form-urlencoded')).body.error.message, /content-type/);
      assert.match((await send('{"name":')).body.error.message, /not valid JSON/);
      assert.match((await send('"x"')).body.error.message, /body/);
      assert.equal((await send('')).status, 400);
      assert.equal((await send('{"name":"x"}', 'application/json; charset=utf-8')).status, 200);
    });

    test('an unknown path answers 404, another method 405 with those that exist', async () => {
      const unknown = await server.call('GET', '/v1/unknown');
      assert.deepEqual([unknown.status, unknown.body.error.type], [404, 'not_found_error']);
      assert.match(unknown.headers.get('request-id') ?? '', /^req_01/);
      const wrong = await server.call('PUT', '/v1/memory_stores', { body: {} });
      assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST, GET']);
    });
  });

for (const engine of ENGINES)
  describe(`start and stop on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    before(async () => {
      database = await engine.create();
    });
    after(() => database.drop());

    test('the first start mints a key and prints two lines to paste; later ones do not', async () => {
      const first = await spawnServer(database, { apiKey: null });
      const key = /^export ANTHROPIC_API_KEY=(sk-mneme-\S+)$/m.exec(first.output.out)?.[1] ?? '';
      assert.match(first.output.out, new RegExp(`^export ANTHROPIC_BASE_URL=${first.url}$`, 'm'));
      assert.equal((await first.call('GET', '/v1/memory_stores', { key })).status, 200);
      assert.equal(await first.end(), 0);
      assert.ok(!first.output.err.includes(key), 'the log does not have the key');
      const second = await spawnServer(database, { apiKey: null });
      assert.ok(!second.output.out.includes('export'));
      assert.equal((await second.call('GET', '/v1/memory_stores', { key })).status, 200);
      await second.end();
    });

    test('a key from a setting replaces the earlier one from a setting', async () => {
      const keys = ['sk-mneme-first-setting-000001', 'sk-mneme-second-setting-00002'];
      for (const [i, apiKey] of keys.entries()) {
        const server = await spawnServer(database, { apiKey });
        const statuses = await Promise.all(
          keys.map(async (key) => (await server.call('GET', '/mneme/v1/keys', { key })).status),
        );
        assert.deepEqual(statuses, i === 0 ? [200, 401] : [401, 200]);
        await server.end();
      }
    });

    test('SIGTERM finishes the request in flight and then ends with code 0', async () => {
      const server = await spawnServer(database);
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      const body = JSON.stringify({ name: 'in flight' });
      socket.write(
        `POST /v1/memory_stores HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\nanthropic-beta: ${BETA}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
      );
      let text = '';
      socket.on('data', (data) => {
        text += data;
      });
      await server.call('GET', '/healthz', { headers: { connection: 'close' } });
      const ended = server.end();
      // The listener is closed once new connections are refused; the half-sent request is finished after that.
      while (
        await server.call('GET', '/healthz', { headers: { connection: 'close' } }).then(
          () => true,
          () => false,
        )
      )
        await sleep(20);
      socket.write(body.slice(5));
      await once(socket, 'close');
      assert.match(text, /^HTTP\/1.1 200 /);
      assert.equal(await ended, 0);
      const log = server.output.err.trim().split('\n');
      for (const line of log) JSON.parse(line);
      assert.ok(
        log.some((line) => line.includes('"route":"/v1/memory_stores","status":200')),
        'the line was flushed',
      );
    });

    test('wrong settings are refused with the name of the setting', async () => {
      for (const [flag, value] of [
        ['--port', '70000'],
        ['--database-url', 'mysql://x'],
        ['--api-key', 'short'],
        ['--log-level', 'loud'],
        ['--version-retention-days', '-1'],
      ] as const) {
        const { code, err } = await mneme(['serve', flag, value]);
        assert.equal(code, 2, flag);
        assert.ok(err.includes(flag), err);
      }
      assert.equal((await mneme(['serve', '--nonsense'])).code, 2);
    });
  });
