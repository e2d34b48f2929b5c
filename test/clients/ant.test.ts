import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Database, ENGINES, temporaryDirectory } from '../support/engines.ts';
import { spawnServer, startInProcess, type TestServer } from '../support/server.ts';
import { ant, commandLine } from './ant.ts';
import { expected, TEXTS, TOO_LARGE } from './texts.ts';

const STORES = 'beta:memory-stores';
const MEMORIES = 'beta:memory-stores:memories';
const VERSIONS = 'beta:memory-stores:memory-versions';

for (const engine of ENGINES)
  describe(`the ant command line on ${engine.name}`, { skip: engine.skip ?? ant.skip }, () => {
    let database: Database;
    let server: TestServer;
    let home: string;
    let cli: ReturnType<typeof commandLine>;
    let now = Date.parse('2026-08-01T00:00:00Z');
    const tick = () => {
      now += 1000;
      return new Date(now).toISOString();
    };
    before(async () => {
      database = await engine.create();
      server = await startInProcess(database, { now: () => now });
      home = await temporaryDirectory();
      cli = commandLine(server.url, home);
    });
    after(async () => {
      await server.stop();
      await database.drop();
      await rm(home, { recursive: true });
    });
    const newKey = async (body: object) =>
      (await server.call('POST', '/mneme/v1/keys', { body: { name: 'k', ...body } })).body as {
        id: string;
        key: string;
      };
    const newStore = async (): Promise<string> => (await cli.one([STORES, 'create', '--name', 's'])).id;
    const ids = (found: { id: string }[]) => found.map(({ id }) => id);

    test('stores: create, retrieve, update, list, archive, delete', async () => {
      const metadata = '{a: "1", b: "2"}';
      const made = await cli.one([STORES, 'create', '--name', 'Né 😀', '--description', 'd', '--metadata', metadata]);
      assert.deepEqual([made.name, made.description, made.metadata], ['Né 😀', 'd', { a: '1', b: '2' }]);
      const at = ['--memory-store-id', made.id];
      assert.deepEqual(await cli.one([STORES, 'retrieve', ...at]), made);
      const since = tick();
      const changes = ['--name', 'new', '--description', '', '--metadata', '{a: null, c: "3"}'];
      const changed = await cli.one([STORES, 'update', ...at, ...changes]);
      const expectedStore = { ...made, name: 'new', description: '', metadata: { b: '2', c: '3' }, updated_at: since };
      assert.deepEqual(changed, expectedStore);
      const more = [await newStore(), await newStore()].toReversed();
      tick();
      const list = (...flags: string[]) => cli.lines([STORES, 'list', ...flags]).then(ids);
      assert.deepEqual((await list()).slice(0, 3), [...more, made.id]);
      assert.deepEqual(await list('--created-at-gte', since, '--limit', '1'), more);
      assert.deepEqual(await list('--created-at-gte', since, '--created-at-lte', since, '--max-items', '1'), [more[0]]);
      assert.ok(!(await list('--created-at-lte', made.created_at)).some((id) => more.includes(id)));
      const archived = await cli.one([STORES, 'archive', ...at]);
      assert.equal(archived.archived_at, new Date(now).toISOString());
      assert.ok(!(await list()).includes(made.id));
      assert.ok((await list('--include-archived=true', '--limit', '1')).includes(made.id));
      await cli.fails('400', 'invalid_request_error', [STORES, 'update', ...at, '--name', 'x']);
      assert.deepEqual(await cli.one([STORES, 'delete', ...at]), { id: made.id, type: 'memory_store_deleted' });
      await cli.fails('404', 'not_found_error', [STORES, 'retrieve', ...at]);
    });

    test('memories: create, retrieve, update, list, delete', async () => {
      const store = await newStore();
      const inStore = ['--memory-store-id', store];
      const create = (path: string, content: string, ...flags: string[]) =>
        cli.one([MEMORIES, 'create', ...inStore, '--path', path, '--content', content, ...flags]);
      const made = await create('/a/b.md', 'one');
      assert.deepEqual({ ...made, ...expected('one'), content: null }, made);
      assert.equal((await create('/a/c', '', '--view', 'full')).content, '');
      const at = [...inStore, '--memory-id', made.id];
      const read = (...flags: string[]) => cli.one([MEMORIES, 'retrieve', ...at, ...flags]);
      assert.equal((await read()).content, 'one');
      assert.equal((await read('--view', 'full')).content, 'one');
      assert.deepEqual(await read('--view', 'basic'), made);
      const update = (...flags: string[]) => [MEMORIES, 'update', ...at, ...flags];
      const precondition = [
        '--precondition.type',
        'content_sha256',
        '--precondition.content-sha256',
        made.content_sha256,
      ];
      const edited = await cli.one(update('--content', 'two', ...precondition, '--view', 'full'));
      assert.deepEqual([edited.content, edited.path], ['two', '/a/b.md']);
      await cli.fails('409', 'memory_precondition_failed_error', update('--content', 'three', ...precondition));
      assert.equal(
        (await cli.one(update('--content', 'two', ...precondition))).memory_version_id,
        edited.memory_version_id,
      );
      assert.equal((await cli.one(update('--path', '/z'))).path, '/z');
      const below = [MEMORIES, 'create', ...inStore, '--path', '/z/x', '--content', 'x'];
      const conflict = await cli.fails('409', 'memory_path_conflict_error', below);
      assert.deepEqual([conflict.conflicting_path, conflict.conflicting_memory_id], ['/z', made.id]);

      for (const path of ['/d/1', '/d/2', '/e/f/3']) await create(path, path);
      const list = async (...flags: string[]) =>
        (await cli.lines([MEMORIES, 'list', ...inStore, ...flags])).map((item) => item.path);
      const all = ['/a/c', '/d/1', '/d/2', '/e/f/3', '/z'];
      assert.deepEqual(await list(), all);
      assert.deepEqual(await list('--limit', '2', '--depth', '0'), all);
      assert.deepEqual(await list('--limit', '2', '--max-items', '3'), all.slice(0, 3));
      assert.deepEqual(await list('--depth', '1', '--limit', '1'), ['/a/', '/d/', '/e/', '/z']);
      assert.deepEqual(await list('--path-prefix', '/d/'), ['/d/1', '/d/2']);
      const full = await cli.lines([MEMORIES, 'list', ...inStore, '--view', 'full', '--limit', '2']);
      assert.deepEqual(
        full.map((item) => item.content),
        ['', '/d/1', '/d/2', '/e/f/3', 'two'],
      );
      const page = (await cli.one(['--format', 'raw', MEMORIES, 'list', ...inStore, '--limit', '2'])).next_page;
      assert.deepEqual(await list('--page', page), all.slice(2));

      const hash = ['--expected-content-sha256'];
      await cli.fails('409', 'memory_precondition_failed_error', [
        MEMORIES,
        'delete',
        ...at,
        ...hash,
        made.content_sha256,
      ]);
      const gone = await cli.one([MEMORIES, 'delete', ...at, ...hash, edited.content_sha256]);
      assert.deepEqual(gone, { id: made.id, type: 'memory_deleted' });
      await cli.fails('404', 'not_found_error', [MEMORIES, 'retrieve', ...at]);
    });

    test('versions: list by every filter, retrieve, redact, restore', async () => {
      const inStore = ['--memory-store-id', await newStore()];
      const other = await newKey({ role: 'developer' });
      const a = await cli.one([MEMORIES, 'create', ...inStore, '--path', '/a', '--content', 'one']);
      const second = tick();
      const at = [...inStore, '--memory-id', a.id];
      await cli.one([MEMORIES, 'update', ...at, '--content', 'two'], { key: other.key });
      tick();
      await cli.one([MEMORIES, 'delete', ...at]);
      const list = async (...flags: string[]) =>
        (await cli.lines([VERSIONS, 'list', ...inStore, ...flags])).map((version) => version.operation);
      const all = ['deleted', 'modified', 'created'];
      assert.deepEqual(await list(), all);
      assert.deepEqual(await list('--limit', '1', '--memory-id', a.id), all);
      assert.deepEqual(await list('--memory-id', 'mem_none'), []);
      assert.deepEqual(await list('--operation', 'created'), ['created']);
      assert.deepEqual(await list('--api-key-id', other.id), ['modified']);
      assert.deepEqual(await list('--session-id', 'sesn_1'), []);
      assert.deepEqual(await list('--created-at-gte', second), ['deleted', 'modified']);
      assert.deepEqual(await list('--created-at-lte', second), ['modified', 'created']);
      const full = await cli.lines([VERSIONS, 'list', ...inStore, '--view', 'full', '--limit', '2']);
      assert.deepEqual(
        full.map((version) => version.content),
        [null, 'two', 'one'],
      );
      const of = [...inStore, '--memory-version-id', a.memory_version_id];
      assert.equal((await cli.one([VERSIONS, 'retrieve', ...of])).content, 'one');
      assert.equal((await cli.one([VERSIONS, 'retrieve', ...of, '--view', 'basic'])).content, null);
      // What a shell would do to restore a version: its text through a pipe, as JSON.
      const { out } = await cli.run([
        '--transform',
        '{path:"/a",content}',
        '--format',
        'json',
        VERSIONS,
        'retrieve',
        ...of,
      ]);
      const restored = await cli.one([MEMORIES, 'create', ...inStore, '--path', '/a', '--view', 'full'], {
        stdin: out,
      });
      assert.equal(restored.content, 'one');
      const head = [VERSIONS, 'redact', ...inStore, '--memory-version-id', restored.memory_version_id];
      await cli.fails('400', 'invalid_request_error', head);
      const redacted = await cli.one([VERSIONS, 'redact', ...of]);
      assert.deepEqual([redacted.content, redacted.path, redacted.content_sha256], [null, null, null]);
      assert.equal(redacted.redacted_at, new Date(now).toISOString());
      assert.deepEqual(redacted.identical_version_ids, [restored.memory_version_id]);
      assert.equal((await cli.one([VERSIONS, 'retrieve', ...of])).content, null);
    });

    test('output is transformed, and errors end with code 1 and say what is wrong', async () => {
      const store = await newStore();
      const at = ['--memory-store-id', store];
      const raw = await cli.run(['--transform', 'id', '--raw-output', STORES, 'retrieve', ...at]);
      assert.deepEqual(raw, { code: 0, out: `${store}\n`, err: '' });
      const missing = ['--transform-error', 'error.type', '--raw-output', STORES, 'retrieve', '--memory-store-id', 'x'];
      const { code, out } = await cli.run(missing);
      assert.deepEqual([code, JSON.parse(out)], [1, 'not_found_error']);
      await cli.fails('401', 'authentication_error', [STORES, 'list'], { key: 'sk-mneme-unknown' });
      const reader = (await newKey({ role: 'read_only' })).key;
      assert.equal((await cli.one([STORES, 'retrieve', ...at], { key: reader })).id, store);
      await cli.fails('403', 'permission_error', [STORES, 'create', '--name', 'x'], { key: reader });
      const beta = (name: string) => [STORES, 'retrieve', ...at, '--beta', name];
      assert.equal((await cli.one(beta('managed-agents-2026-04-01'))).id, store);
      await cli.fails('404', 'not_found_error', beta('files-api-2025-04-14'));
      const both = [...beta('managed-agents-2026-04-01'), '--beta', 'agent-memory-2026-07-22'];
      await cli.fails('400', 'invalid_request_error', both);
      const own = server.server.world.defaultWorkspaceId;
      assert.equal((await cli.one(['--workspace-id', own, STORES, 'retrieve', ...at])).id, store);
      await cli.fails('404', 'not_found_error', ['--workspace-id', 'wrkspc_1', STORES, 'retrieve', ...at]);
    });

    test('every text comes back byte for byte, from a file and as an argument, through a restart too', async () => {
      const own = await engine.create();
      try {
        const first = await spawnServer(own);
        const found = new Map<string, string>();
        let store = '';
        try {
          const { one, fails } = commandLine(first.url, home);
          store = (await one([STORES, 'create', '--name', 'bytes'])).id;
          const inStore = ['--memory-store-id', store];
          const file = join(home, 'text');
          for (const [i, [name, content]] of Object.entries({ ...TEXTS, ...TOO_LARGE }).entries()) {
            await writeFile(file, content);
            // `--content @file` is taken literally by 1.20.0; a file is named in the body on standard input.
            const stdin = JSON.stringify({ path: `/file/${i}`, content: `@file://${file}` });
            const create = [MEMORIES, 'create', ...inStore, '--view', 'full'];
            if (name in TOO_LARGE) {
              await fails('400', 'invalid_request_error', create, { stdin });
              continue;
            }
            const made = await one(create, { stdin });
            assert.deepEqual({ ...made, ...expected(content) }, made, name);
            found.set(made.id, name);
            // No argument of a program holds NUL.
            if (content.includes('\0')) continue;
            const given = await one([...create, '--path', `/argument/${i}`, '--content', content]);
            assert.deepEqual({ ...given, ...expected(content) }, given, name);
            found.set(given.id, name);
          }
        } finally {
          assert.equal(await first.end(), 0);
        }
        const second = await spawnServer(own);
        try {
          const { lines, one } = commandLine(second.url, home);
          const inStore = ['--memory-store-id', store];
          const listed = await lines([MEMORIES, 'list', ...inStore, '--view', 'full']);
          assert.equal(listed.length, found.size);
          for (const memory of listed) {
            const content = TEXTS[found.get(memory.id) as string] as string;
            assert.deepEqual({ ...memory, ...expected(content) }, memory, found.get(memory.id));
          }
          const [id] = found.keys();
          const read = await one([MEMORIES, 'retrieve', ...inStore, '--memory-id', id as string]);
          assert.deepEqual(
            read,
            listed.find((memory) => memory.id === id),
          );
        } finally {
          assert.equal(await second.end(), 0);
        }
      } finally {
        await own.drop();
      }
    });
  });
