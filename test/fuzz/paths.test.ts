import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Database, ENGINES } from '../support/engines.ts';
import { startInProcess, type TestServer } from '../support/server.ts';

const REFUSED: Record<string, string> = {
  'no slash at the start': 'a/b',
  'nothing at all': '',
  'the root': '/',
  'a trailing slash': '/a/',
  'a doubled slash': '/a//b',
  'a doubled slash at the start': '//a',
  'the segment .': '/a/./b',
  'the segment ..': '/a/../b',
  'a final .': '/a/.',
  'a final ..': '/..',
  '21 segments': '/s'.repeat(21),
  '1,025 bytes': `/${'a'.repeat(1024)}`,
  '1,025 bytes in 513 characters': `/${'é'.repeat(512)}`,
  '1,026 bytes in 342 characters': `/${'€'.repeat(341)}ab`,
  NFD: '/cafe\u0301',
  'NFD of Hangul': '/\u1112\u1161\u11ab',
  'a singleton that NFC replaces': '/\u212b',
  'an ideograph that NFC replaces': '/\uf900',
  'marks out of order': '/q\u0307\u0323',
  'U+2028': '/a\u2028b',
  'U+2029': '/a\u2029b',
  NUL: '/a\0b',
  'a line feed': '/a\nb',
  'a carriage return': '/a\rb',
  'a tab': '/a\tb',
  DEL: '/a\u007fb',
  'a C1 control': '/a\u0085b',
  'a soft hyphen': '/a\u00adb',
  'a zero-width space': '/a\u200bb',
  'a zero-width joiner': '/👩\u200d💻',
  'a word joiner': '/a\u2060b',
  'a byte order mark': '/\ufeffa',
  'a left-to-right mark': '/a\u200eb',
  'an override of direction': '/a\u202eb',
  'an isolate of direction': '/a\u2066b\u2069',
  'an Arabic letter mark': '/a\u061cb',
  'a language tag': '/a\u{e0041}b',
  'a musical format character': '/a\u{1d173}b',
  'a lone surrogate': '/a\ud800b',
};

const ACCEPTED: Record<string, string> = {
  'one character': '/a',
  '20 segments': '/s'.repeat(20),
  '1,024 bytes': `/${'a'.repeat(1023)}`,
  '1,024 bytes in characters of three': `/${'€'.repeat(341)}`,
  '1,024 bytes in 20 segments': `${'/n'.repeat(19)}/${'m'.repeat(1024 - 39)}`,
  'dots that are no segment': '/.../..a/a../.hidden/a.b',
  'a space, at the ends too': '/ a / b',
  'no-break space': '/a\u00a0b',
  'what URLs and shells mean something by': '/%2e%2e/a%00b/?q=1&b#c/$HOME/*`~!@^()[]{}|;:\'",<>\\',
  NFC: '/caf\u00e9/\ud55c',
  'a compatibility character, which NFC keeps': '/\ufb01\u00b2',
  'a combining mark without a composed form': '/q\u0323\u0307',
  'emoji and other astral characters': '/😀/𝒳/\u{10ffff}',
  'a variation selector': '/☎\ufe0f',
  'an unassigned and a private code point': '/\u0378\ue000',
  'a noncharacter': '/\uffff',
};

for (const engine of ENGINES)
  describe(`paths on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let server: TestServer;
    before(async () => {
      database = await engine.create();
      server = await startInProcess(database);
    });
    after(async () => {
      await server.stop();
      await database.drop();
    });

    /** An empty store with memories at these paths, written in this order. */
    async function fill(paths: string[]) {
      const store = `/v1/memory_stores/${(await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body.id}`;
      const create = (path: string) => server.call('POST', `${store}/memories`, { body: { path, content: path } });
      for (const path of paths) assert.equal((await create(path)).status, 200, JSON.stringify(path));
      /** The paths of a list, page by page. */
      const list = async (query: Record<string, string> = {}) => {
        const found: string[] = [];
        for (let page: string | null = ''; page !== null; ) {
          const parameters = new URLSearchParams({ ...query, ...(page === '' ? {} : { page }) });
          const { status, body } = await server.call('GET', `${store}/memories?${parameters}`);
          assert.equal(status, 200, JSON.stringify([query, body]));
          found.push(...body.data.map((entry: { path: string }) => entry.path));
          page = body.next_page;
        }
        return found;
      };
      return { store, create, list };
    }

    const byBytes = (paths: string[]) => paths.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

    test('what the rules forbid is refused on create and on rename, with a reason and without a trace', async () => {
      const { store, create, list } = await fill(['/kept']);
      const [kept] = (await server.call('GET', `${store}/memories`)).body.data;
      for (const [name, path] of Object.entries(REFUSED)) {
        const renamed = await server.call('POST', `${store}/memories/${kept.id}`, { body: { path } });
        for (const answer of [await create(path), renamed]) {
          assert.equal(answer.status, 400, name);
          assert.equal(answer.body.error.type, 'invalid_request_error', name);
          assert.match(answer.body.error.message, /^path /, name);
        }
      }
      assert.deepEqual(await list(), ['/kept']);
      assert.equal((await server.call('GET', `${store}/memory_versions`)).body.data.length, 1);
    });

    test('what the rules forbid is refused as a prefix too', async () => {
      const { store } = await fill([]);
      const prefixes = Object.entries(REFUSED).filter(([, path]) => path !== '/' && path.isWellFormed());
      for (const [name, path] of [...prefixes.map(([name, path]) => [name, `${path}/`]), ['no final slash', '/a']]) {
        // The empty path becomes "/", which is the whole store.
        const answer = await server.call(
          'GET',
          `${store}/memories?${new URLSearchParams({ path_prefix: path ?? '' })}`,
        );
        assert.equal(answer.status, name === 'nothing at all' ? 200 : 400, name);
      }
    });

    test('everything else is accepted, returned unchanged, listed and found by its folder', async () => {
      const paths = Object.values(ACCEPTED);
      const { store, list } = await fill(paths);
      assert.deepEqual(await list(), byBytes(paths));
      assert.deepEqual(await list({ limit: '1' }), byBytes(paths));
      for (const path of paths) {
        const folder = path.slice(0, path.lastIndexOf('/') + 1);
        assert.ok((await list({ path_prefix: folder })).includes(path), path);
        const versions = (await server.call('GET', `${store}/memory_versions?limit=100`)).body.data;
        assert.ok(
          versions.some((version: { path: string }) => version.path === path),
          path,
        );
      }
    });

    test('% and _ in a prefix mean themselves', async () => {
      const paths = [
        '/100%/a',
        '/1000/a',
        '/100x/a',
        '/a_b/c',
        '/axb/c',
        '/a%b/c',
        '/%/x',
        '/_/x',
        '/x/x',
        '/%25/x',
        '/\\%/x',
      ];
      const { list } = await fill(paths);
      for (const [prefix, expected] of [
        ['/100%/', ['/100%/a']],
        ['/a_b/', ['/a_b/c']],
        ['/a%b/', ['/a%b/c']],
        ['/%/', ['/%/x']],
        ['/_/', ['/_/x']],
        ['/%25/', ['/%25/x']],
        ['/\\%/', ['/\\%/x']],
        ['/100_/', []],
        ['/a%/', []],
        ['/*/', []],
      ] as const) {
        assert.deepEqual(await list({ path_prefix: prefix }), expected, prefix);
        assert.deepEqual(await list({ path_prefix: prefix, depth: '1' }), expected, prefix);
      }
    });

    test('the order is that of bytes, not of UTF-16 and not of a language', async () => {
      const names = [
        '\ufffd',
        '\u{10000}',
        '\uffff',
        '😀',
        '\ue000',
        'z',
        'a',
        'Z',
        'é',
        'e',
        'ä',
        '~',
        '!',
        '-',
        '0',
        'ß',
        'ｚ',
      ];
      const paths = names.flatMap((name) => [`/${name}`, `/dir${name}/x`, `/folder/${name}/deep`]);
      const { list } = await fill(paths);
      const expected = byBytes(paths);
      assert.notDeepEqual(expected, paths.toSorted(), 'the order of UTF-16 would pass too');
      assert.ok(expected.indexOf('/\ufffd') < expected.indexOf('/\u{10000}'));
      for (const limit of ['1', '2', '7', '100']) assert.deepEqual(await list({ limit }), expected, limit);
      const below = expected.filter((path) => path.startsWith('/folder/'));
      assert.deepEqual(await list({ path_prefix: '/folder/', limit: '3' }), below);
      const children = below.map((path) => path.slice(0, -'deep'.length));
      assert.deepEqual(await list({ path_prefix: '/folder/', depth: '1', limit: '3' }), children);
    });

    test('a folder sorts where its memories do, beside names that begin alike', async () => {
      const paths = ['/a/b', '/a-b', '/a.b', '/a0', '/a b', '/a!/x', '/ab/c', '/aé/c'];
      const { list } = await fill(paths);
      assert.deepEqual(await list(), byBytes(paths));
      assert.deepEqual(await list({ path_prefix: '/a/' }), ['/a/b']);
      const rolled = byBytes(paths).map((path) => path.replace(/^(\/[^/]+\/).*/, '$1'));
      for (const limit of ['1', '2', '100']) assert.deepEqual(await list({ depth: '1', limit }), rolled);
    });

    test('paths are case-sensitive, and alike is not equal', async () => {
      const paths = [
        '/README',
        '/readme',
        '/Readme',
        '/ﬁ',
        '/fi',
        '/Straße',
        '/STRASSE',
        '/k',
        '/K',
        '/ı',
        '/i',
        '/İ',
        '/a',
        '/а',
      ];
      const { create, list } = await fill(paths);
      assert.deepEqual(await list(), byBytes(paths));
      for (const path of paths) {
        const { status, body } = await create(path);
        assert.equal(status, 409);
        assert.equal(body.error.conflicting_path, path);
      }
      assert.deepEqual(await list({ path_prefix: '/readme/' }), []);
    });

    test('a path and its folders exclude each other, and names that begin alike do not', async () => {
      const { create } = await fill(['/a/b/c', '/x', '/%/y', '/é/y']);
      for (const [path, conflict] of [
        ['/a', '/a/b/c'],
        ['/a/b', '/a/b/c'],
        ['/a/b/c/d', '/a/b/c'],
        ['/x/y/z', '/x'],
        ['/%', '/%/y'],
        ['/é', '/é/y'],
      ] as const) {
        const { status, body } = await create(path);
        assert.equal(status, 409, path);
        assert.equal(body.error.type, 'memory_path_conflict_error', path);
        assert.equal(body.error.conflicting_path, conflict, path);
        assert.match(body.error.conflicting_memory_id, /^mem_01/);
      }
      for (const path of ['/a/b/cd', '/a/bc', '/ab', '/x.', '/X/y', '/_', '/e', '/%%', '/a/b/d/e'])
        assert.equal((await create(path)).status, 200, path);
    });
  });
