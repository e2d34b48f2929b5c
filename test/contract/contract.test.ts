import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Failure } from '../../src/contract/errors.ts';
import { createIdSource } from '../../src/contract/ids.ts';
import {
  ancestorsOf,
  explainContent,
  explainDescription,
  explainMetadataEntry,
  explainPath,
  explainPathPrefix,
  explainStoreName,
} from '../../src/contract/limits.ts';
import { decodePage, encodePage } from '../../src/contract/pages.ts';
import { parseTimestamp, toTimestamp } from '../../src/contract/wire.ts';

test('paths: what the rules allow', () => {
  const longest = `/${'é'.repeat(511)}a`;
  assert.equal(Buffer.byteLength(longest), 1024);
  for (const path of [
    '/a',
    '/a.md',
    '/.hidden',
    '/...',
    '/a b/c',
    '/%/_',
    '/é',
    '/😀',
    longest,
    `/${'a/'.repeat(19)}a`,
  ])
    assert.equal(explainPath(path), null, path);
});

test('paths: what they refuse, with a word on why', () => {
  const refused: [string, RegExp][] = [
    ['', /start with/],
    ['a', /start with/],
    ['/', /empty segment/],
    ['//', /empty segment/],
    ['/a/', /empty segment/],
    ['/a//b', /empty segment/],
    ['/.', /"\."/],
    ['/a/../b', /"\.\."/],
    [`/${'a/'.repeat(20)}a`, /20 segments/],
    [`/${'a'.repeat(1024)}`, /1024 bytes/],
    [`/${'é'.repeat(512)}`, /1024 bytes/],
    ['/e\u0301', /Form C/],
    ['/a\nb', /control/],
    ['/a\0b', /control/],
    ['/a\u0085b', /control/],
    ['/a\u202eb', /format/],
    ['/a\u200bb', /format/],
    ['/\ufeffa', /format/],
    ['/a\u2028b', /separator/],
    ['/a\u2029b', /separator/],
    ['/a\ud800b', /surrogate/],
  ];
  for (const [path, reason] of refused) assert.match(explainPath(path) ?? 'allowed', reason, JSON.stringify(path));
});

test('prefixes end with "/" and name whole segments', () => {
  for (const prefix of ['/', '/a/', '/a/b/', '/%/']) assert.equal(explainPathPrefix(prefix), null);
  for (const prefix of ['', 'a/', '/a', '//', '/a//', '/../']) assert.notEqual(explainPathPrefix(prefix), null, prefix);
});

test('texts count code points, and content counts bytes', () => {
  assert.equal(explainStoreName('😀'.repeat(255)), null);
  assert.notEqual(explainStoreName('😀'.repeat(256)), null);
  assert.notEqual(explainStoreName('a\tb'), null);
  assert.notEqual(explainStoreName(''), null);
  assert.equal(explainDescription('😀'.repeat(1024)), null);
  assert.notEqual(explainDescription('a'.repeat(1025)), null);
  assert.notEqual(explainDescription('a\0'), null);
  assert.equal(explainMetadataEntry('k'.repeat(64), '😀'.repeat(512)), null);
  for (const [key, value] of [
    ['', 'v'],
    ['k'.repeat(65), 'v'],
    ['k', 'v'.repeat(513)],
    ['k\0', 'v'],
  ] as const)
    assert.notEqual(explainMetadataEntry(key, value), null);
  assert.equal(explainContent('a'.repeat(102_400)), null);
  assert.equal(explainContent('😀'.repeat(25_600)), null);
  assert.notEqual(explainContent(`${'😀'.repeat(25_599)}aaaaa`), null);
  assert.notEqual(explainContent('a\udc00'), null);
});

test('ancestors are the proper prefixes at each "/"', () => {
  assert.deepEqual(ancestorsOf('/a/b/c'), ['/a', '/a/b']);
  assert.deepEqual(ancestorsOf('/a'), []);
});

test('ids have the form of the contract and ascend, whatever the clock does', () => {
  let now = Date.UTC(2026, 0, 1);
  const newId = createIdSource(() => now);
  const ids: string[] = [];
  for (let i = 0; i < 5000; i++) {
    if (i % 1000 === 999) now -= 3_600_000;
    if (i % 7 === 0) now += 1;
    ids.push(newId('mem'));
  }
  for (const id of ids) assert.match(id, /^mem_01[1-9A-HJ-NP-Za-km-z]{22}$/);
  assert.deepEqual([...ids].sort(), ids);
  assert.equal(new Set(ids).size, ids.length);
});

test('timestamps: RFC 3339 only, with finer fractions rounded to the side asked for', () => {
  const at = Date.UTC(2026, 1, 28, 9, 0, 0, 123);
  assert.equal(parseTimestamp('2026-02-28T09:00:00.123Z', 'up'), at);
  assert.equal(parseTimestamp('2026-02-28t10:30:00.123456+01:30', 'down'), at);
  assert.equal(parseTimestamp('2026-02-28T09:00:00.123456Z', 'up'), at + 1);
  assert.equal(parseTimestamp('2026-02-28T08:00:00.1230-01:00', 'up'), at);
  for (const text of [
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-02-28',
    '2026-02-28T09:00:00',
    'x',
    '',
    '2026-02-28T24:00:00Z',
  ])
    assert.equal(parseTimestamp(text, 'up'), null, text);
});

test('timestamps: every one that the server writes is that of the platform, and reads back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (time) => {
      assert.equal(toTimestamp(time), new Date(time).toISOString());
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (time) =>
      ['up', 'down'].every((round) => parseTimestamp(new Date(time).toISOString(), round as 'up') === time),
    ),
  );
});

test('cursors read back, and a foreign or forged one is refused', () => {
  assert.equal(decodePage('versions', 'number', encodePage('versions', 7)), 7);
  assert.equal(decodePage('memories', 'string', encodePage('memories', '/é')), '/é');
  const forged = (value: unknown) => `page_${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
  for (const page of [
    '',
    'page_',
    'page_!',
    encodePage('stores', 7),
    forged(['versions', '7']),
    forged(['versions', -1]),
    forged(['versions', 1.5]),
    forged(['versions', 7, 7]),
    forged({}),
    forged(null),
  ])
    assert.throws(() => decodePage('versions', 'number', page), Failure, page);
});
