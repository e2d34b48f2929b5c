import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { ENGINES } from '../support/engines.ts';
import {
  assertLogClean,
  assertRefused,
  type Bytes,
  CANARY,
  exchange,
  requestBytes,
  startTarget,
  type Target,
} from './wire.ts';

const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)));

/** A text field of each endpoint that takes text, as a JSON body around the JSON of the text. */
const FIELDS: [name: string, target: (t: Target) => string, body: (json: string) => string][] = [
  ['store name', () => '/v1/memory_stores', (json) => `{"name":${json}}`],
  ['store description', () => '/v1/memory_stores', (json) => `{"name":"x","description":${json}}`],
  ['metadata value', () => '/v1/memory_stores', (json) => `{"name":"x","metadata":{"k":${json}}}`],
  ['metadata key', () => '/v1/memory_stores', (json) => `{"name":"x","metadata":{${json}:"v"}}`],
  ['new store name', (t) => t.store, (json) => `{"name":${json}}`],
  ['new metadata value', (t) => t.store, (json) => `{"metadata":{"k":${json}}}`],
  ['new metadata key', (t) => t.store, (json) => `{"metadata":{${json}:"v"}}`],
  ['removed metadata key', (t) => t.store, (json) => `{"metadata":{${json}:null}}`],
  ['path', (t) => `${t.store}/memories`, (json) => `{"content":"x","path":${json}}`],
  ['content', (t) => `${t.store}/memories`, (json) => `{"path":"/x","content":${json}}`],
  ['new path', (t) => `${t.store}/memories/${t.memoryId}`, (json) => `{"path":${json}}`],
  ['new content', (t) => `${t.store}/memories/${t.memoryId}`, (json) => `{"content":${json}}`],
  ['workspace name', () => '/mneme/v1/workspaces', (json) => `{"name":${json}}`],
  ['key name', () => '/mneme/v1/keys', (json) => `{"name":${json}}`],
  ['key user', () => '/mneme/v1/keys', (json) => `{"name":"k","user":${json}}`],
];

const deep = (open: string, close: string, inner: string) => open.repeat(100_000) + inner + close.repeat(100_000);

/** Bodies that no endpoint accepts. */
const BODIES: Record<string, Bytes> = {
  'an empty body': '',
  null: 'null',
  'a number': '1',
  'a huge number': '1e99999',
  'a text': JSON.stringify(CANARY),
  'an array': `[{"name":"${CANARY}"}]`,
  'a field that no endpoint knows': `{"${CANARY}":1}`,
  'the field __proto__': `{"__proto__":{"name":"${CANARY}","path":"/x","content":"x"}}`,
  'the field constructor': `{"constructor":{"prototype":{"name":"${CANARY}"}}}`,
  'huge numbers for text': '{"name":1e400,"path":-1e400,"content":12345678901234567890123456789}',
  'NaN, which is no JSON': `{"name":NaN,"content":"${CANARY}"}`,
  'a comment, which is no JSON': `{"name":"x"}//${CANARY}`,
  'two documents': `{"name":"x"}{"name":"${CANARY}"}`,
  'single quotes': `{'name':'${CANARY}'}`,
  'a byte order mark': bytes([0xef, 0xbb, 0xbf], '{"name":"x","path":"/x","content":"x"}'),
  'UTF-16': Buffer.from(`{"name":"${CANARY}"}`, 'utf16le'),
  'half a document': `{"name":"x","path":"/x","content":"${CANARY}`,
  'half an escape': `{"name":"x\\u00`,
  'a bare control character': `{"name":"${CANARY}\u0001"}`,
  'arrays 100,000 deep': deep('[', ']', ''),
  'objects 100,000 deep': deep('{"a":', '}', '1'),
  'a known field 100,000 deep': `{"name":${deep('[', ']', '')},"content":${deep('{"a":', '}', '1')}}`,
  'metadata 100,000 deep': `{"name":"x","metadata":{"a":${deep('{"a":', '}', '1')}}}`,
  '20,000 unknown fields': JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, i]))),
  'more than 1 MiB': `{"name":"${'x'.repeat(1_048_576)}"}`,
  'zero bytes': Buffer.alloc(64),
};

/** Byte sequences that are not UTF-8. */
const NOT_UTF8: Record<string, number[]> = {
  'a byte that never occurs': [0xff],
  'an overlong slash': [0xc0, 0xaf],
  'an encoded surrogate': [0xed, 0xa0, 0x80],
  'a surrogate pair in CESU-8': [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
  'a code point above U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'half a character': [0xe2, 0x82],
  'a lone continuation': [0x80],
};

for (const engine of ENGINES)
  describe(`hostile bodies on ${engine.name}`, { skip: engine.skip }, () => {
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
    // Whatever a test sent: nothing was stored, nothing logged, and the server goes on.
    afterEach(async () => {
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    const post = async (path: string, body: Bytes, headers: Bytes[] = []) =>
      target.send({ method: 'POST', target: path, body, headers });

    test('no endpoint with a body accepts a malformed one', async () => {
      const paths = new Set(FIELDS.map(([, path]) => path(target)));
      assert.equal(paths.size, 6);
      for (const path of paths)
        for (const [name, body] of Object.entries(BODIES)) {
          // `{}` would change nothing, and so may an update be.
          const answer = await post(path, body);
          assertRefused(answer, `${path} with ${name}`);
          assert.equal(answer.status, name === 'more than 1 MiB' ? 413 : 400, `${path} with ${name}`);
        }
    });

    test('an endpoint without fields accepts no body but an empty object', async () => {
      const paths = [`${target.store}/archive`, `${target.store}/memory_versions/${target.versionId}/redact`];
      for (const path of paths)
        for (const [name, body] of Object.entries(BODIES))
          if (name !== 'an empty body') assertRefused(await post(path, body), `${path} with ${name}`);
    });

    test('bytes that are not UTF-8 are refused in every text, and beside it', async () => {
      for (const [field, path, body] of FIELDS)
        for (const [name, broken] of Object.entries(NOT_UTF8)) {
          const [start = '', end = ''] = body(`"${CANARY}|"`).split('|');
          assertRefused(await post(path(target), bytes(start, broken, end)), `${name} in ${field}`);
        }
      assertRefused(await post('/v1/memory_stores', bytes('{"name":"x"}', [0xff])), 'behind the document');
    });

    test('a lone surrogate is refused in every text, whichever half and wherever it stands', async () => {
      for (const [field, path, body] of FIELDS)
        for (const surrogate of ['\\ud800', '\\udc00', 'a\\udfffb', '\\udc00\\ud800', '\\ud83d\\ud83d\\ude00']) {
          const text = field.endsWith('path') ? `"/${CANARY}${surrogate}"` : `"${CANARY}${surrogate}"`;
          assertRefused(await post(path(target), body(text)), `${surrogate} in ${field}`);
        }
    });

    test('of a field given twice the last one counts', async () => {
      assertRefused(await post('/v1/memory_stores', `{"name":"${CANARY}","name":""}`), 'the last name is empty');
      assertRefused(await post(`${target.store}/memories`, `{"path":"/x","content":"x","path":"x"}`), 'path');
      const metadata = `{"name":"x","metadata":{"k":"v","k":null}}`;
      assertRefused(await post('/v1/memory_stores', metadata), 'metadata');
      const created = await post('/v1/memory_stores', '{"name":"","name":"last","metadata":{"k":"1","k":"2"}}');
      assert.equal(created?.status, 200);
      assert.equal(created.body.name, 'last');
      assert.deepEqual(created.body.metadata, { k: '2' });
      assert.equal((await target.server.call('DELETE', `/v1/memory_stores/${created.body.id}`)).status, 200);
    });

    test('metadata keys that mean something in JavaScript are kept like any other', async () => {
      const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '0', '10', 'a'];
      const metadata = `{${names.map((name) => `"${name}":"of ${name}"`).join()}}`;
      const created = await post('/v1/memory_stores', `{"name":"x","metadata":${metadata}}`);
      assert.equal(created?.status, 200);
      const path = `/v1/memory_stores/${created.body.id}`;
      const read = async () => {
        const { metadata } = (await target.server.call('GET', path)).body;
        return Object.keys(metadata)
          .sort()
          .map((name) => [name, Object.getOwnPropertyDescriptor(metadata, name)?.value]);
      };
      const all = [...names].sort().map((name) => [name, `of ${name}`]);
      assert.deepEqual(await read(), all);
      const removed = await post(path, '{"metadata":{"__proto__":null,"constructor":null}}');
      assert.equal(removed?.status, 200);
      assert.deepEqual(
        await read(),
        all.filter(([name]) => name !== '__proto__' && name !== 'constructor'),
      );
      assert.equal((await post(path, '{"metadata":{"__proto__":"again"}}'))?.status, 200);
      assert.deepEqual(
        (await read()).find(([name]) => name === '__proto__'),
        ['__proto__', 'again'],
      );
      assert.equal((await target.server.call('DELETE', path)).status, 200);
    });

    test('a body of another type, or compressed, is refused', async () => {
      const valid = `{"name":"${CANARY}"}`;
      for (const type of [
        ...['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded'],
        ...['application/jsonp', 'application/ld+json', 'json', `text/${CANARY}`, ' ', 'application/json/x'],
      ])
        assertRefused(await post('/v1/memory_stores', valid, [`content-type: ${type}`]), type);
      for (const [encoding, body] of [
        ['gzip', gzipSync(valid)],
        ['br', brotliCompressSync(valid)],
        ['gzip', valid],
        ['identity, gzip', valid],
        [CANARY, valid],
      ] as const) {
        const headers = [`content-encoding: ${encoding}`];
        assertRefused(await post('/v1/memory_stores', body, headers), `content-encoding ${encoding}`);
      }
    });

    test('a body that ends early, or is framed wrongly, stores nothing', async () => {
      const path = '/v1/memory_stores';
      const cut = requestBytes({
        method: 'POST',
        target: path,
        headers: ['content-length: 1000'],
        body: '{"name":"x"',
      });
      // There may be nobody left to answer to.
      const answer = await exchange(target.server.url, cut, true);
      if (answer !== null) assertRefused(answer, 'cut off');
      const framings: [string, string[], Bytes][] = [
        ['a length below zero', ['content-length: -1'], '{}'],
        ['a length that is no number', [`content-length: ${CANARY}`], '{}'],
        ['two lengths', ['content-length: 12', 'content-length: 13'], '{"name":"x"}'],
        ['a length and chunks', ['content-length: 12', 'transfer-encoding: chunked'], '0\r\n\r\n'],
        ['a chunk size that is no number', ['transfer-encoding: chunked'], `xyz\r\n${CANARY}\r\n0\r\n\r\n`],
        ['a huge chunk size', ['transfer-encoding: chunked'], 'ffffffffffffffffff\r\n{}'],
        ['chunks after something else', ['transfer-encoding: gzip, chunked'], gzipSync('{"name":"x"}')],
        [
          'chunks of more than 1 MiB',
          ['transfer-encoding: chunked'],
          `100001\r\n"${'x'.repeat(0x0f_ffff)}"\r\n0\r\n\r\n`,
        ],
      ];
      for (const [name, headers, body] of framings) assertRefused(await post(path, body, headers), name);
    });
  });
