import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { type Database, ENGINES } from '../support/engines.ts';
import { ADMIN_KEY, client as clientWith, spawnServer, startInProcess, type TestServer } from '../support/server.ts';
import { expected, TEXTS, TOO_LARGE } from './texts.ts';

for (const engine of ENGINES)
  describe(`the TypeScript SDK loses nothing on ${engine.name}`, { skip: engine.skip }, () => {
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

    test('two clients that edit one memory with preconditions lose no line', async () => {
      const clients = [clientWith(server.url), clientWith(server.url)];
      const { beta } = server.client;
      const store = (await beta.memoryStores.create({ name: 's' })).id;
      const { id } = await beta.memoryStores.memories.create(store, { path: '/list.md', content: '' });
      const at = { memory_store_id: store };
      let conflicts = 0;
      const bothHaveRead = Promise.withResolvers<void>();
      let reads = 0;
      const append = async ({ beta }: Anthropic, line: string): Promise<void> => {
        for (;;) {
          const { content, content_sha256 } = await beta.memoryStores.memories.retrieve(id, at);
          // The first to write would otherwise be done before the other has read.
          if (++reads === clients.length) bothHaveRead.resolve();
          await bothHaveRead.promise;
          const precondition = { type: 'content_sha256', content_sha256 } as const;
          try {
            await beta.memoryStores.memories.update(id, { ...at, content: `${content}${line}\n`, precondition });
            return;
          } catch (error) {
            assert.ok(error instanceof Anthropic.ConflictError);
            conflicts++;
          }
        }
      };
      const lines = clients.map((_, writer) => Array.from({ length: 20 }, (_, i) => `${writer}:${i}`));
      await Promise.all(
        clients.map(async (client, writer) => {
          for (const line of lines[writer] as string[]) await append(client, line);
        }),
      );
      const { content } = await beta.memoryStores.memories.retrieve(id, at);
      const kept = (content ?? '').trimEnd().split('\n');
      assert.deepEqual(kept.toSorted(), lines.flat().toSorted());
      for (const own of lines)
        assert.deepEqual(
          kept.filter((line) => own.includes(line)),
          own,
        );
      const versions = await Array.fromAsync(beta.memoryStores.memoryVersions.list(store, { limit: 100 }));
      assert.equal(versions.length, 41);
      assert.ok(conflicts > 0, 'the two never met');
    });

    test('a client that repeats a request whose answer was lost does not do it twice', async () => {
      let lost = 0;
      const client = new Anthropic({
        baseURL: server.url,
        apiKey: ADMIN_KEY,
        maxRetries: 2,
        // The request arrives, the answer does not: once for each call.
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (new Headers(init?.headers).get('x-stainless-retry-count') !== '0' || init?.method === 'GET')
            return response;
          await response.arrayBuffer();
          lost++;
          throw new TypeError('fetch failed');
        },
      });
      const store = (await server.client.beta.memoryStores.create({ name: 's' })).id;
      const at = { memory_store_id: store };
      const { memories, memoryVersions } = client.beta.memoryStores;
      const created = await memories.create(store, { path: '/a', content: 'one' });
      const precondition = { type: 'content_sha256', content_sha256: created.content_sha256 } as const;
      const updated = await memories.update(created.id, { ...at, content: 'two', precondition });
      assert.deepEqual(await memories.delete(created.id, at), { id: created.id, type: 'memory_deleted' });
      assert.equal(lost, 3);
      const versions = await Array.fromAsync(memoryVersions.list(store, { memory_id: created.id }));
      assert.deepEqual(
        versions.map((version) => version.operation),
        ['deleted', 'modified', 'created'],
      );
      assert.deepEqual([versions[1]?.id, versions[2]?.id], [updated.memory_version_id, created.memory_version_id]);
    });

    test('a client that retries does not repeat a conflict, and errors that are the caller’s are final', async () => {
      let calls = 0;
      const client = new Anthropic({
        baseURL: server.url,
        apiKey: ADMIN_KEY,
        maxRetries: 2,
        fetch: (url, init) => {
          calls++;
          return fetch(url, init);
        },
      });
      const store = (await client.beta.memoryStores.create({ name: 's' })).id;
      await client.beta.memoryStores.memories.create(store, { path: '/a', content: 'one' });
      calls = 0;
      const again = client.beta.memoryStores.memories.create(store, { path: '/a', content: 'two' });
      await assert.rejects(again, Anthropic.ConflictError);
      await assert.rejects(client.beta.memoryStores.retrieve('memstore_none'), Anthropic.NotFoundError);
      assert.equal(calls, 2);
    });

    test('every text comes back byte for byte, through a restart too', async () => {
      const own = await engine.create();
      try {
        const first = await spawnServer(own);
        const { memoryStores } = first.client.beta;
        const store = (await memoryStores.create({ name: 'bytes' })).id;
        const at = { memory_store_id: store };
        const ids = new Map<string, { id: string; version: string }>();
        const parts = ({ content, content_size_bytes, content_sha256 }: Partial<ReturnType<typeof expected>>) => ({
          content,
          content_size_bytes,
          content_sha256,
        });
        try {
          for (const [i, [name, content]] of Object.entries(TEXTS).entries()) {
            const created = await memoryStores.memories.create(store, { path: `/${i}`, content, view: 'full' });
            assert.deepEqual(parts(created as ReturnType<typeof expected> & object), expected(content), name);
            const updated = await memoryStores.memories.update(created.id, { ...at, content: `${name}` });
            await memoryStores.memories.update(created.id, { ...at, content });
            ids.set(name, { id: created.id, version: updated.memory_version_id });
          }
          for (const [name, content] of Object.entries(TOO_LARGE)) {
            const created = memoryStores.memories.create(store, { path: '/large', content });
            await assert.rejects(created, Anthropic.BadRequestError, name);
            const { id } = ids.get('empty') as { id: string };
            const updated = memoryStores.memories.update(id, { ...at, content });
            await assert.rejects(updated, Anthropic.BadRequestError, name);
          }
        } finally {
          assert.equal(await first.end(), 0);
        }
        const second = await spawnServer(own);
        try {
          const { memories, memoryVersions } = second.client.beta.memoryStores;
          for (const [name, content] of Object.entries(TEXTS)) {
            const { id, version } = ids.get(name) as { id: string; version: string };
            const memory = await memories.retrieve(id, at);
            assert.deepEqual(parts(memory as ReturnType<typeof expected>), expected(content), name);
            const created = await Array.fromAsync(
              memoryVersions.list(store, { memory_id: id, operation: 'created', view: 'full' }),
            );
            assert.deepEqual(
              created.map((one) => parts(one as ReturnType<typeof expected>)),
              [expected(content)],
              name,
            );
            assert.equal((await memoryVersions.retrieve(version, at)).content, name);
          }
          const listed = await Array.fromAsync(memories.list(store, { view: 'full', limit: 20 }));
          const contents = listed.map((item) => (item.type === 'memory' ? item.content : null));
          assert.deepEqual(contents.toSorted(), Object.values(TEXTS).toSorted());
        } finally {
          assert.equal(await second.end(), 0);
        }
      } finally {
        await own.drop();
      }
    });
  });
