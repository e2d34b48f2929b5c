import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { ENGINES } from '../support/engines.ts';
import {
  assertLogClean,
  assertRefused,
  type Bytes,
  CANARY,
  exchange,
  type RawAnswer,
  startTarget,
  type Target,
} from './wire.ts';

// A failure prints its seed and path; they reproduce it when put in here.
const RUNS = { seed: 20_260_801, numRuns: 300 };

/** Positions and bytes that damage something valid. */
const damage = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    remove: fc.integer({ min: 0, max: 4 }),
    insert: fc.uint8Array({ maxLength: 6 }),
  }),
  { minLength: 1, maxLength: 4 },
);
type Damage = { at: number; remove: number; insert: Uint8Array }[];

function damaged(bytes: Buffer, changes: Damage): Buffer {
  let result = bytes;
  for (const { at, remove, insert } of changes) {
    const start = Math.floor(at * result.length);
    result = Buffer.concat([result.subarray(0, start), insert, result.subarray(start + remove)]);
  }
  return result;
}

/** Refused in the wire form, or accepted as something valid after all; never a fault, never silence. */
function assertAnswered(answer: RawAnswer | null, label: string): void {
  if (answer?.status === 200) assert.match(answer.headers.get('request-id') ?? '', /^req_01/, label);
  else assertRefused(answer, label);
}

for (const engine of ENGINES)
  describe(`random requests on ${engine.name}`, { skip: engine.skip }, () => {
    let target: Target;
    before(async () => {
      target = await startTarget(engine);
    });
    after(() => target.stop());

    /** Endpoints that change something and want a body. */
    const writes = () => [
      '/v1/memory_stores',
      target.store,
      `${target.store}/memories`,
      `${target.store}/memories/${target.memoryId}`,
      '/mneme/v1/keys',
      '/mneme/v1/workspaces',
    ];

    test('random bytes are no body, and change nothing', async () => {
      const held = await target.state();
      const body = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'binary' }));
      const path = fc.constantFrom(...writes());
      await fc.assert(
        fc.asyncProperty(path, body, async (path, body) => {
          assertRefused(await target.send({ method: 'POST', target: path, body }), path);
        }),
        RUNS,
      );
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    test('random JSON is no body, and changes nothing', async () => {
      const held = await target.state();
      const fields = [
        'name',
        'description',
        'metadata',
        'path',
        'content',
        'precondition',
        'role',
        'user',
        'expires_at',
      ];
      const value = fc.oneof(
        fc.jsonValue(),
        fc.constant(CANARY),
        fc.double().map(String),
        fc.string({ unit: 'binary' }),
      );
      const known = fc.dictionary(fc.constantFrom(...fields), value, { minKeys: 1 });
      const path = fc.constantFrom(...writes());
      // A field that nobody knows makes each of them unacceptable, however well the others fit.
      const body = fc.oneof(fc.jsonValue(), known).map((json) => {
        const object = typeof json === 'object' && json !== null && !Array.isArray(json);
        return JSON.stringify(object ? { ...json, [CANARY]: 1 } : json);
      });
      await fc.assert(
        fc.asyncProperty(path, body, async (path, body) => {
          assertRefused(await target.send({ method: 'POST', target: path, body }), `${path} ${body}`);
        }),
        RUNS,
      );
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    test('random values of known fields are stored as they were sent, or refused', async () => {
      const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());
      const path = fc.oneof(
        text,
        fc.array(text, { maxLength: 22 }).map((segments) => `/${segments.join('/')}`),
      );
      const view = fc.constantFrom('', '?view=full', '?view=basic');
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(path, text, view, async (path, content, view) => {
          const body = JSON.stringify({ path, content });
          const answer = await target.send({ method: 'POST', target: `${target.store}/memories${view}`, body });
          assertAnswered(answer, body);
          if (answer?.status !== 200) return;
          accepted++;
          const url = `${target.store}/memories/${answer.body.id}`;
          const read = await target.server.call('GET', url);
          assert.equal(read.body.path, path);
          assert.equal(read.body.content, content);
          assert.equal(read.body.content_size_bytes, Buffer.byteLength(content));
          assert.equal((await target.server.call('DELETE', url)).status, 200);
        }),
        RUNS,
      );
      assert.ok(accepted > 10, `only ${accepted} were accepted`);
      assertLogClean(target.server);
    });

    test('a damaged request is answered, and the server goes on', async () => {
      const requests = writes().flatMap((path) => [
        `POST ${path} HTTP/1.1\r\nhost: a\r\nx-api-key: ${CANARY}\r\nanthropic-beta: agent-memory-2026-07-22\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"name":"${CANARY}`,
        `GET ${path}?limit=5&page=${CANARY} HTTP/1.1\r\nhost: a\r\nx-api-key: ${CANARY}\r\nconnection: close\r\n\r\n`,
      ]);
      const held = await target.state();
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...requests), damage, async (request, changes) => {
          const bytes = damaged(Buffer.from(request), changes);
          const answer = await exchange(target.server.url, bytes, true);
          // Our side said that nothing more comes: the server may leave an unfinished request without an answer.
          if (answer !== null) assertRefused(answer, bytes.toString('latin1'));
        }),
        RUNS,
      );
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    test('a damaged URL of an admitted caller is answered', async () => {
      const { store, memoryId, versionId } = target;
      const targets = [
        `${store}/memories?limit=5&depth=1&view=full&path_prefix=/a/&page=page_${CANARY}`,
        `${store}/memory_versions?memory_id=${memoryId}&operation=created&created_at[gte]=2026-01-01T00:00:00Z`,
        '/v1/memory_stores?limit=1&include_archived=true&created_at%5Blte%5D=2026-01-01T00%3A00%3A00Z',
        `${store}/memories/${memoryId}?view=basic`,
        `${store}/memory_versions/${versionId}`,
        '/mneme/v1/keys?workspace_id=wrkspc_1',
      ];
      const held = await target.state();
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...targets), damage, async (path, changes) => {
          const bytes = damaged(Buffer.from(path), changes);
          // A space or a line break would make it another request.
          if (/[\r\n ]/.test(bytes.toString('latin1'))) return;
          const answer = await target.send({ target: bytes as Bytes });
          assertAnswered(answer, bytes.toString('latin1'));
        }),
        RUNS,
      );
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });
  });
