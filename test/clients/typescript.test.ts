import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { type Database, ENGINES } from '../support/engines.ts';
import { client as clientWith, startInProcess, type TestServer } from '../support/server.ts';
import { expected } from './texts.ts';

const MANAGED = 'managed-agents-2026-04-01';

/** Everything that an auto-paging list gives. */
const collect = async <T>(pages: AsyncIterable<T>): Promise<T[]> => Array.fromAsync(pages);

/** Asserts an error of the SDK's class, with the wire's type and a request id. */
async function assertFails<E extends InstanceType<typeof Anthropic.APIError>>(
  kind: abstract new (...args: never[]) => E,
  type: string,
  call: Promise<unknown>,
): Promise<E> {
  const error = await call.then(
    () => assert.fail(`succeeded instead of ${type}`),
    (error: unknown) => error,
  );
  assert.ok(error instanceof kind, `${error}`);
  const body = error.error as { type: string; error: { type: string; message: string }; request_id: string };
  assert.equal(body.type, 'error');
  assert.equal(body.error.type, type);
  assert.equal(body.request_id, error.requestID);
  assert.match(error.requestID ?? '', /^req_01/);
  return error;
}

for (const engine of ENGINES)
  describe(`the TypeScript SDK on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let server: TestServer;
    let now = Date.parse('2026-08-01T00:00:00Z');
    before(async () => {
      database = await engine.create();
      server = await startInProcess(database, { now: () => now });
    });
    after(async () => {
      await server.stop();
      await database.drop();
    });
    const stores = () => server.client.beta.memoryStores;
    const newStore = async (name = 'store') => (await stores().create({ name })).id;
    const newKey = async (body: object) =>
      (await server.call('POST', '/mneme/v1/keys', { body: { name: 'k', ...body } })).body as {
        id: string;
        key: string;
      };
    const tick = () => {
      now += 1000;
      return new Date(now).toISOString();
    };

    test('creates, retrieves, updates and archives a store', async () => {
      const created = await stores().create({ name: 'Né 😀', description: 'd', metadata: { a: '1', b: '2' } });
      assert.match(created.id, /^memstore_01/);
      assert.match(created._request_id ?? '', /^req_01/);
      assert.deepEqual(
        [created.type, created.name, created.description, created.metadata, created.archived_at],
        ['memory_store', 'Né 😀', 'd', { a: '1', b: '2' }, null],
      );
      assert.equal(created.created_at, created.updated_at);
      assert.deepEqual(await stores().retrieve(created.id), created);
      const changed = tick();
      const updated = await stores().update(created.id, { metadata: { a: null, c: '3' }, description: '' });
      assert.deepEqual(updated, { ...created, metadata: { b: '2', c: '3' }, description: '', updated_at: changed });
      const renamed = await stores().update(created.id, { name: 'new', description: null, metadata: null });
      assert.deepEqual(renamed, { ...updated, name: 'new' });
      const archivedAt = tick();
      const archived = await stores().archive(created.id);
      assert.deepEqual(archived, { ...renamed, archived_at: archivedAt, updated_at: archivedAt });
      tick();
      assert.deepEqual(await stores().archive(created.id), archived);
      await assertFails(Anthropic.BadRequestError, 'invalid_request_error', stores().update(created.id, { name: 'x' }));
      const { data, response, request_id } = await stores().retrieve(created.id).withResponse();
      assert.deepEqual(data, archived);
      assert.equal(response.headers.get('request-id'), request_id);
      assert.deepEqual(await stores().delete(created.id), { id: created.id, type: 'memory_store_deleted' });
      await assertFails(Anthropic.NotFoundError, 'not_found_error', stores().retrieve(created.id));
      await assertFails(Anthropic.NotFoundError, 'not_found_error', stores().delete(created.id));
    });

    test('lists stores newest first, page by page, by time and with archived ones', async () => {
      const made = [];
      const from = tick();
      for (let i = 0; i < 5; i++) {
        made.unshift((await stores().create({ name: `s${i}` })).id);
        tick();
      }
      const to = new Date(now - 1000).toISOString();
      const ids = async (params: Anthropic.Beta.MemoryStoreListParams) =>
        (await collect(stores().list({ 'created_at[gte]': from, ...params }))).map((store) => store.id);
      assert.deepEqual(await ids({}), made);
      assert.deepEqual(await ids({ limit: 2 }), made);
      assert.deepEqual(await ids({ 'created_at[lte]': to }), made);
      const third = (await stores().retrieve(made[2] as string)).created_at;
      assert.deepEqual(await ids({ 'created_at[lte]': third }), made.slice(2));
      assert.deepEqual(await ids({ 'created_at[gte]': third, limit: 1 }), made.slice(0, 3));
      assert.deepEqual(await ids({ 'created_at[gte]': third, 'created_at[lte]': third }), [made[2]]);
      const first = await stores().list({ limit: 2, 'created_at[gte]': from });
      assert.equal(first.data.length, 2);
      assert.match(first.next_page ?? '', /^page_/);
      const second = await stores().list({ limit: 2, 'created_at[gte]': from, page: first.next_page as string });
      assert.deepEqual(
        second.data.map((store) => store.id),
        made.slice(2, 4),
      );
      const last = await second.getNextPage();
      assert.deepEqual([last.data.length, last.next_page, last.hasNextPage()], [1, null, false]);
      await stores().archive(made[0] as string);
      assert.deepEqual(await ids({}), made.slice(1));
      assert.deepEqual(await ids({ include_archived: false }), made.slice(1));
      assert.deepEqual(await ids({ include_archived: true, limit: 2 }), made);
    });

    test('creates, retrieves and updates a memory, with each view', async () => {
      const store = await newStore();
      const { memories } = stores();
      const at = { memory_store_id: store };
      const created = await memories.create(store, { path: '/a/b.md', content: 'one' });
      assert.match(created.id, /^mem_01/);
      assert.match(created._request_id ?? '', /^req_01/);
      const { content_size_bytes, content_sha256 } = expected('one');
      assert.deepEqual({ ...created, content_size_bytes, content_sha256 }, created);
      assert.deepEqual([created.path, created.content, created.memory_store_id], ['/a/b.md', null, store]);
      const full = { ...created, content: 'one' };
      assert.deepEqual(await memories.retrieve(created.id, at), full);
      assert.deepEqual(await memories.retrieve(created.id, { ...at, view: 'full' }), full);
      assert.deepEqual(await memories.retrieve(created.id, { ...at, view: 'basic' }), created);
      assert.equal((await memories.create(store, { path: '/c', content: 'x', view: 'full' })).content, 'x');
      assert.equal((await memories.create(store, { path: '/d', content: '', view: 'basic' })).content, null);

      tick();
      const renamed = await memories.update(created.id, { ...at, path: '/new' });
      assert.deepEqual([renamed.path, renamed.content, renamed.id], ['/new', null, created.id]);
      assert.equal(renamed.content_sha256, content_sha256);
      assert.notEqual(renamed.memory_version_id, created.memory_version_id);
      const precondition = { type: 'content_sha256', content_sha256 } as const;
      const edited = await memories.update(created.id, { ...at, content: 'two', precondition, view: 'full' });
      assert.deepEqual({ ...edited, ...expected('two') }, edited);
      assert.deepEqual([edited.path, edited.updated_at], ['/new', new Date(now).toISOString()]);
      const both = await memories.update(created.id, { ...at, content: 'three', path: '/z', view: 'basic' });
      assert.deepEqual([both.path, both.content, both.content_size_bytes], ['/z', null, 5]);
      const stale = memories.update(created.id, { ...at, content: 'four', precondition });
      await assertFails(Anthropic.ConflictError, 'memory_precondition_failed_error', stale);
      // What is there already succeeds whatever the precondition says.
      tick();
      const same = await memories.update(created.id, { ...at, content: 'three', path: '/z', precondition });
      assert.deepEqual(same, both);
      const nothing = await memories.update(created.id, { ...at, content: null, path: null });
      assert.deepEqual(nothing, both);
      const taken = memories.create(store, { path: '/z/below', content: 'x' });
      const conflict = await assertFails(Anthropic.ConflictError, 'memory_path_conflict_error', taken);
      const { error } = conflict.error as { error: Record<string, string> };
      assert.deepEqual([error.conflicting_path, error.conflicting_memory_id], ['/z', created.id]);
    });

    test('lists memories by prefix, depth, view and page, and deletes them', async () => {
      const store = await newStore();
      const { memories } = stores();
      const paths = ['/a/1', '/a/2', '/a/b/3', '/b', '/c/4', '/c/5'];
      for (const path of paths.toReversed()) await memories.create(store, { path, content: path });
      const list = async (params: Anthropic.Beta.MemoryStores.MemoryListParams) =>
        (await collect(memories.list(store, params))).map((item) => `${item.type} ${item.path}`);
      const named = (...found: string[]) => found.map((path) => `memory${path.endsWith('/') ? '_prefix' : ''} ${path}`);
      assert.deepEqual(await list({}), named(...paths));
      assert.deepEqual(await list({ limit: 1 }), named(...paths));
      assert.deepEqual(await list({ depth: 0 }), named(...paths));
      assert.deepEqual(await list({ depth: 1, limit: 2 }), named('/a/', '/b', '/c/'));
      assert.deepEqual(await list({ path_prefix: '/a/' }), named('/a/1', '/a/2', '/a/b/3'));
      assert.deepEqual(await list({ path_prefix: '/a/', depth: 1, limit: 1 }), named('/a/1', '/a/2', '/a/b/'));
      const contents = async (params: Anthropic.Beta.MemoryStores.MemoryListParams) =>
        (await collect(memories.list(store, params))).map((item) =>
          item.type === 'memory' ? item.content : item.path,
        );
      assert.deepEqual(await contents({ view: 'full', limit: 4 }), paths);
      assert.deepEqual(
        await contents({ view: 'basic' }),
        paths.map(() => null),
      );
      assert.deepEqual(
        await contents({ limit: 5 }),
        paths.map(() => null),
      );

      const [first, second] = (await memories.list(store)).data;
      assert.ok(first?.type === 'memory' && second?.type === 'memory');
      const at = { memory_store_id: store };
      const wrong = memories.delete(first.id, { ...at, expected_content_sha256: second.content_sha256 });
      await assertFails(Anthropic.ConflictError, 'memory_precondition_failed_error', wrong);
      const gone = await memories.delete(first.id, { ...at, expected_content_sha256: first.content_sha256 });
      assert.deepEqual(gone, { id: first.id, type: 'memory_deleted' });
      await memories.delete(second.id, at);
      assert.deepEqual(await list({}), named(...paths.slice(2)));
      await assertFails(Anthropic.NotFoundError, 'not_found_error', memories.retrieve(first.id, at));
    });

    test('lists, retrieves and redacts versions by every filter, and restores an old one', async () => {
      const store = await newStore();
      const { memories, memoryVersions } = stores();
      const at = { memory_store_id: store };
      const other = await newKey({ role: 'developer' });
      const a = await memories.create(store, { path: '/a', content: 'one' });
      tick();
      const second = tick();
      await clientWith(server.url, other.key).beta.memoryStores.memories.update(a.id, { ...at, content: 'two' });
      tick();
      const b = await memories.create(store, { path: '/b', content: 'bee' });
      tick();
      await memories.delete(b.id, at);
      const list = async (params: Anthropic.Beta.MemoryStores.MemoryVersionListParams) =>
        (await collect(memoryVersions.list(store, params))).map((v) => `${v.operation} ${v.path} ${v.content}`);
      const all = ['deleted /b null', 'created /b null', 'modified /a null', 'created /a null'];
      assert.deepEqual(await list({}), all);
      assert.deepEqual(await list({ limit: 1 }), all);
      assert.deepEqual(await list({ view: 'full', limit: 3 }), [
        ...['deleted /b null', 'created /b bee', 'modified /a two', 'created /a one'],
      ]);
      assert.deepEqual(await list({ memory_id: a.id }), all.slice(2));
      assert.deepEqual(await list({ operation: 'created', limit: 1 }), [all[1], all[3]]);
      assert.deepEqual(await list({ operation: 'deleted' }), [all[0]]);
      assert.deepEqual(await list({ api_key_id: other.id }), [all[2]]);
      assert.deepEqual(await list({ session_id: 'sesn_1' }), []);
      assert.deepEqual(await list({ service_account_id: 'svac_1' }), []);
      assert.deepEqual(await list({ 'created_at[gte]': second, limit: 2 }), all.slice(0, 3));
      assert.deepEqual(await list({ 'created_at[lte]': second }), all.slice(2));
      assert.deepEqual(await list({ 'created_at[gte]': second, 'created_at[lte]': second, memory_id: b.id }), []);

      const [version] = (await memoryVersions.list(store, { memory_id: a.id, api_key_id: other.id })).data;
      assert.deepEqual(version?.created_by, { type: 'api_actor', api_key_id: other.id });
      const full = await memoryVersions.retrieve(a.memory_version_id, at);
      assert.deepEqual({ ...full, ...expected('one') }, full);
      assert.deepEqual([full.operation, full.memory_id, full.redacted_at], ['created', a.id, null]);
      assert.deepEqual(await memoryVersions.retrieve(full.id, { ...at, view: 'full' }), full);
      assert.equal((await memoryVersions.retrieve(full.id, { ...at, view: 'basic' })).content, null);
      const restored = await memories.update(a.id, { ...at, content: full.content, view: 'full' });
      assert.equal(restored.content, 'one');
      assert.notEqual(restored.memory_version_id, full.id);
      const head = memoryVersions.redact(restored.memory_version_id, at);
      await assertFails(Anthropic.BadRequestError, 'invalid_request_error', head);
      const when = tick();
      const redacted = await memoryVersions.redact(full.id, at);
      const empty = { path: null, content: null, content_sha256: null, content_size_bytes: null };
      assert.deepEqual({ ...redacted, ...empty, redacted_at: when }, redacted);
      assert.equal(redacted.redacted_by?.type, 'api_actor');
      tick();
      assert.equal((await memoryVersions.redact(full.id, at)).redacted_at, when);
      assert.equal((await memoryVersions.retrieve(full.id, at)).content, null);
      assert.equal((await memories.retrieve(a.id, at)).content, 'one');
    });

    test('workspaces, betas and keys give the SDK its typed errors', async () => {
      const store = await newStore();
      const id = server.server.world.defaultWorkspaceId;
      assert.equal((await stores().retrieve(store, { workspace_id: id })).id, store);
      const foreign = (await server.call('POST', '/mneme/v1/workspaces', { body: { name: 'other' } })).body.id;
      const elsewhere = stores().retrieve(store, { workspace_id: foreign });
      await assertFails(Anthropic.NotFoundError, 'not_found_error', elsewhere);
      const stranger = clientWith(server.url, (await newKey({ workspace_id: foreign, role: 'admin' })).key);
      await assertFails(Anthropic.NotFoundError, 'not_found_error', stranger.beta.memoryStores.retrieve(store));
      assert.deepEqual((await stranger.beta.memoryStores.list()).data, []);
      // The SDK adds its own beta to those given, and the two exclude each other.
      const both = stores().create({ name: 'x', betas: [MANAGED] });
      await assertFails(Anthropic.BadRequestError, 'invalid_request_error', both);
      assert.equal((await stores().retrieve(store, { betas: ['files-api-2025-04-14'] })).id, store);
      const instead = { headers: { 'anthropic-beta': MANAGED } };
      assert.equal((await stores().retrieve(store, {}, instead)).id, store);
      const unknown = clientWith(server.url, 'sk-mneme-unknown').beta.memoryStores.list();
      await assertFails(Anthropic.AuthenticationError, 'authentication_error', unknown);
      const reader = clientWith(server.url, (await newKey({ role: 'read_only' })).key).beta.memoryStores;
      assert.equal((await reader.retrieve(store)).id, store);
      await assertFails(Anthropic.PermissionDeniedError, 'permission_error', reader.create({ name: 'x' }));
      const bearer = new Anthropic({ baseURL: server.url, apiKey: null, authToken: (await newKey({})).key });
      assert.equal((await bearer.beta.memoryStores.retrieve(store)).id, store);
    });
  });
