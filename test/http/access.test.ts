import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ROUTES, type Route } from '../../src/contract/routes.ts';
import { BETAS } from '../../src/contract/wire.ts';
import { type Database, ENGINES } from '../support/engines.ts';
import { ADMIN_KEY, startInProcess, type TestServer } from '../support/server.ts';

/** A body that each route accepts, so that only the caller is at fault. */
const BODIES: Record<string, object> = {
  createStore: { name: 'new' },
  updateStore: { name: 'changed' },
  archiveStore: {},
  createMemory: { path: '/new.md', content: 'new' },
  updateMemory: { content: 'changed' },
  redactVersion: {},
  createWorkspace: { name: 'another' },
  createKey: { name: 'another' },
  revokeKey: {},
};
const NAMES = Object.entries(ROUTES) as [string, Route][];

for (const engine of ENGINES)
  describe(`access on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let server: TestServer;
    let now = Date.now();
    const ids: Record<string, string> = {};
    let foreignKey = '';
    let foreignWorkspace = '';
    let readOnlyKey = '';
    let developerKey = '';

    const fill = (route: Route) =>
      route.path.replace(/:(\w+)/g, (_, name: string) => {
        assert.ok(ids[name], name);
        return ids[name];
      });
    const newKey = async (body: object, key = ADMIN_KEY) =>
      (await server.call('POST', '/mneme/v1/keys', { key, body: { name: 'k', ...body } })).body;
    /** What the first workspace holds, to see that a refused call changed nothing. */
    const state = async () => {
      const store = `/v1/memory_stores/${ids.memory_store_id}`;
      const parts = ['', '/memories?view=full', '/memory_versions?view=full'];
      const answers = await Promise.all(parts.map((part) => server.call('GET', store + part)));
      return [...answers, await server.call('GET', '/mneme/v1/keys')].map((answer) => answer.body);
    };

    before(async () => {
      database = await engine.create();
      server = await startInProcess(database, { now: () => now });
      const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 'mine' } })).body;
      const memories = `/v1/memory_stores/${store.id}/memories`;
      const memory = (await server.call('POST', memories, { body: { path: '/a.md', content: 'one' } })).body;
      await server.call('POST', `${memories}/${memory.id}`, { body: { content: 'two' } });
      ids.memory_store_id = store.id;
      ids.memory_id = memory.id;
      ids.memory_version_id = memory.memory_version_id;
      const own = await newKey({ role: 'developer' });
      ids.api_key_id = own.id;
      developerKey = own.key;
      readOnlyKey = (await newKey({ role: 'read_only' })).key;
      const workspace = (await server.call('POST', '/mneme/v1/workspaces', { body: { name: 'other' } })).body;
      foreignWorkspace = workspace.id;
      foreignKey = (await newKey({ role: 'admin', workspace_id: workspace.id })).key;
    });
    after(async () => {
      await server.stop();
      await database.drop();
    });

    test('every endpoint that names an object answers 404 to another workspace and changes nothing', async () => {
      const before = await state();
      let checked = 0;
      for (const [name, route] of NAMES) {
        if (!route.path.includes(':')) continue;
        checked++;
        const { status, body } = await server.call(route.method, fill(route), { key: foreignKey, body: BODIES[name] });
        assert.equal(status, 404, name);
        assert.equal(body.error.type, 'not_found_error', name);
      }
      assert.equal(checked, 13);
      assert.deepEqual(await state(), before);
    });

    test('lists and filters of another workspace show nothing of this one', async () => {
      const stores = await server.call('GET', '/v1/memory_stores?include_archived=true', { key: foreignKey });
      assert.deepEqual(stores.body, { data: [], next_page: null });
      const keys = await server.call('GET', '/mneme/v1/keys', { key: foreignKey });
      assert.equal(keys.body.data.length, 1);
      assert.equal(keys.body.data[0].workspace_id, foreignWorkspace);
    });

    test('an object of a store is not reached through another store', async () => {
      const other = (await server.call('POST', '/v1/memory_stores', { body: { name: 'second' } })).body;
      for (const [name, route] of NAMES) {
        if (!/:memory_(id|version_id)/.test(route.path)) continue;
        const path = fill(route).replace(ids.memory_store_id as string, other.id);
        assert.equal((await server.call(route.method, path, { body: BODIES[name] })).status, 404, name);
      }
    });

    test('an admin of another workspace manages its own keys alone', async () => {
      const call = (method: string, path: string, body?: object) =>
        server.call(method, path, { key: foreignKey, body });
      const home = server.server.world.defaultWorkspaceId;
      assert.equal((await call('POST', '/mneme/v1/keys', { name: 'k', workspace_id: home })).status, 404);
      assert.equal((await call('GET', `/mneme/v1/keys?workspace_id=${home}`)).status, 404);
      assert.equal((await call('POST', '/mneme/v1/workspaces', { name: 'mine too' })).status, 403);
      assert.equal((await call('GET', '/mneme/v1/workspaces')).status, 403);
      assert.equal((await call('POST', '/mneme/v1/keys', { name: 'k' })).status, 200);
    });

    test('a read_only key reads everything and changes nothing; a developer key manages no keys', async () => {
      const before = await state();
      for (const [name, route] of NAMES) {
        const read = route.method === 'GET' && route.tag !== 'Keys';
        const answer = await server.call(route.method, fill(route), { key: readOnlyKey, body: BODIES[name] });
        assert.equal(answer.status, read ? 200 : 403, name);
        if (!read) assert.equal(answer.body.error.type, 'permission_error', name);
        if (route.tag !== 'Keys') continue;
        const developer = await server.call(route.method, fill(route), { key: developerKey, body: BODIES[name] });
        assert.equal(developer.status, 403, name);
      }
      assert.deepEqual(await state(), before);
    });

    test('every endpoint refuses no key, an unknown one, a revoked one and an expired one', async () => {
      const revoked = await newKey({});
      assert.equal((await server.call('GET', '/v1/memory_stores', { key: revoked.key })).status, 200);
      assert.equal((await server.call('POST', `/mneme/v1/keys/${revoked.id}/revoke`, { body: {} })).status, 200);
      const expired = await newKey({ expires_at: new Date(now + 60_000).toISOString() });
      assert.equal((await server.call('GET', '/v1/memory_stores', { key: expired.key })).status, 200);
      now += 60_000;
      for (const [name, route] of NAMES)
        for (const key of [null, 'sk-mneme-unknown', revoked.key, expired.key, '']) {
          const { status, body } = await server.call(route.method, fill(route), { key, body: BODIES[name] });
          assert.equal(status, 401, `${name} ${key}`);
          assert.equal(body.error.type, 'authentication_error');
        }
    });

    test('a key works as a bearer token, and beside a wrong one in the other header', async () => {
      const get = (headers: Record<string, string>) =>
        server.call('GET', '/v1/memory_stores', { key: null, headers }).then((answer) => answer.status);
      assert.equal(await get({ authorization: `Bearer ${ADMIN_KEY}` }), 200);
      assert.equal(await get({ authorization: `bearer ${ADMIN_KEY}`, 'x-api-key': 'wrong' }), 200);
      assert.equal(await get({ authorization: 'Bearer wrong', 'x-api-key': ADMIN_KEY }), 200);
      assert.equal(await get({ authorization: `Basic ${ADMIN_KEY}` }), 401);
    });

    test('memory endpoints want one of their beta headers, and not both', async () => {
      for (const [name, route] of NAMES) {
        if (route.beta === null) continue;
        const send = (beta: string | null, path = fill(route)) =>
          // A body that no route knows: a caller let through gets 400 and changes nothing.
          server.call(route.method, path, { beta, body: route.method === 'POST' ? { unknown: 1 } : undefined });
        const missing = await send(null);
        assert.equal(missing.status, 404, name);
        assert.match(missing.body.error.message, /anthropic-beta: agent-memory-2026-07-22/);
        assert.equal((await send('dreaming-2026-04-21')).status, 404, name);
        assert.equal((await send(BETAS.memory.join(','))).status, 400, name);
        if (route.method === 'DELETE') continue;
        const accepted = route.method === 'POST' ? 400 : 200;
        for (const beta of [...BETAS.memory, `files-api-2025-04-14, ${BETAS.memory[1]}`]) {
          const answer = await send(beta);
          assert.equal(answer.status, accepted, `${name} ${beta}`);
          if (accepted === 400) assert.match(answer.body.error.message, /"unknown"/);
        }
        assert.equal((await send(BETAS.memory[0], `${fill(route)}?beta=true`)).status, accepted, name);
      }
    });

    test('the workspace header must name the workspace of the key', async () => {
      const get = (workspace: string) =>
        server.call('GET', '/v1/memory_stores', { headers: { 'anthropic-workspace-id': workspace } });
      const own = await get(server.server.world.defaultWorkspaceId);
      assert.equal(own.status, 200);
      assert.equal(own.headers.get('anthropic-workspace-id'), server.server.world.defaultWorkspaceId);
      assert.equal((await get(foreignWorkspace)).status, 404);
    });

    test('versions name the key, or the person whose key it is', async () => {
      const memories = `/v1/memory_stores/${ids.memory_store_id}/memories`;
      const first = await newKey({ user: 'Ada Lovelace' });
      const second = await newKey({ user: 'Ada Lovelace' });
      assert.equal(first.user.id, second.user.id);
      const byPerson = await server.call('POST', memories, {
        key: first.key,
        body: { path: '/by-ada.md', content: 'x' },
      });
      const versions = `/v1/memory_stores/${ids.memory_store_id}/memory_versions`;
      const version = await server.call('GET', `${versions}/${byPerson.body.memory_version_id}`);
      assert.deepEqual(version.body.created_by, { type: 'user_actor', user_id: first.user.id });
      const byKey = await server.call('GET', `${versions}/${ids.memory_version_id}`);
      assert.equal(byKey.body.created_by.type, 'api_actor');
      assert.match(byKey.body.created_by.api_key_id, /^apikey_01/);
    });

    test('the last admin key can not be revoked, and revoking ends a key at once', async () => {
      const list = (await server.call('GET', '/mneme/v1/keys')).body.data;
      const admin = list.find((key: { name: string }) => key.name === 'MNEME_API_KEY');
      const refused = await server.call('POST', `/mneme/v1/keys/${admin.id}/revoke`);
      assert.equal(refused.status, 400);
      const second = await newKey({ role: 'admin' });
      const ended = await server.call('POST', `/mneme/v1/keys/${second.id}/revoke`, { key: second.key });
      assert.equal(ended.status, 200);
      assert.equal((await server.call('GET', '/mneme/v1/keys', { key: second.key })).status, 401);
      assert.equal(
        (await server.call('POST', `/mneme/v1/keys/${second.id}/revoke`)).body.revoked_at,
        ended.body.revoked_at,
      );
    });

    test('a key is shown once: no list and no log has it', async () => {
      const created = await newKey({ name: 'secret' });
      assert.match(created.key, /^sk-mneme-[1-9A-HJ-NP-Za-km-z]{44}$/);
      const list = await server.call('GET', '/mneme/v1/keys');
      assert.ok(!JSON.stringify(list.body).includes(created.key));
      await server.call('GET', '/v1/memory_stores', { key: created.key });
      const log = server.log.join('');
      assert.ok(log.includes(created.id), 'the log names the key by its id');
      for (const key of [created.key, ADMIN_KEY, developerKey]) assert.ok(!log.includes(key));
    });
  });
