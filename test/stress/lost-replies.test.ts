import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { ENGINES } from '../support/engines.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { checkClean, Fleet, sha256 } from './fleet.ts';
import { stress } from './seed.ts';

for (const engine of ENGINES)
  describe(`replies are lost on ${engine.name}`, { skip: engine.skip }, () => {
    let fleet: Fleet;
    let proxy: CuttingProxy;
    /** Requests that the SDK sent, repeated ones included. */
    let sent = 0;
    let sdk: Anthropic;
    before(async () => {
      fleet = await Fleet.start(engine);
      proxy = await startCuttingProxy(fleet.servers.map((server) => server.url));
      sdk = new Anthropic({
        baseURL: proxy.url,
        apiKey: ADMIN_KEY,
        maxRetries: 2,
        fetch: (input, init) => {
          sent++;
          return fetch(input, init);
        },
      });
    });
    after(async () => {
      await proxy?.close();
      await fleet?.stop();
    });

    /** Runs a request of the SDK whose first `lost` replies are dropped, and checks that it was repeated so often. */
    const losing = async <T>(lost: number, request: () => Promise<T>): Promise<T> => {
      const [before, dropped] = [sent, proxy.dropped];
      proxy.cut(lost);
      const result = await request();
      assert.equal(proxy.dropped - dropped, lost, 'the replies were dropped');
      assert.equal(sent - before, lost + 1, 'the SDK sent the request again');
      return result;
    };

    const newStore = async () => (await sdk.beta.memoryStores.create({ name: 'stress' })).id;
    const versionsOf = async (storeId: string) => {
      const versions = [];
      for await (const version of sdk.beta.memoryStores.memoryVersions.list(storeId)) versions.push(version);
      return versions.reverse();
    };

    for (const lost of [1, 2]) {
      const times = lost === 1 ? 'once' : 'twice';

      stress(`a create whose reply is lost ${times} succeeds with one version`, engine.skip, async () => {
        const storeId = await newStore();
        const body = { path: '/a', content: 'text', view: 'full' as const };
        const memory = await losing(lost, () => sdk.beta.memoryStores.memories.create(storeId, body));
        assert.equal(memory.content, 'text');
        const versions = await versionsOf(storeId);
        assert.deepEqual(
          versions.map((version) => [version.id, version.operation, version.memory_id]),
          [[memory.memory_version_id, 'created', memory.id]],
        );
      });

      stress(`an update whose reply is lost ${times} succeeds with one version`, engine.skip, async () => {
        const storeId = await newStore();
        const memory = await sdk.beta.memoryStores.memories.create(storeId, { path: '/a', content: 'one' });
        const update = (change: { path?: string; content?: string }, expected: string) =>
          losing(lost, () =>
            sdk.beta.memoryStores.memories.update(memory.id, {
              memory_store_id: storeId,
              ...change,
              precondition: { type: 'content_sha256', content_sha256: sha256(expected) },
            }),
          );
        const answers = [
          await update({ content: 'two' }, 'one'),
          await update({ path: '/b' }, 'two'),
          await update({ path: '/c', content: 'three' }, 'two'),
        ];
        assert.deepEqual(
          (await versionsOf(storeId)).map((version) => [version.id, version.operation, version.path]),
          [
            [memory.memory_version_id, 'created', '/a'],
            [answers[0]?.memory_version_id, 'modified', '/a'],
            [answers[1]?.memory_version_id, 'modified', '/b'],
            [answers[2]?.memory_version_id, 'modified', '/c'],
          ],
        );
      });

      stress(`a delete whose reply is lost ${times} succeeds with one version`, engine.skip, async () => {
        const storeId = await newStore();
        for (const expected of [undefined, sha256('text')]) {
          const memory = await sdk.beta.memoryStores.memories.create(storeId, { path: '/a', content: 'text' });
          const deleted = await losing(lost, () =>
            sdk.beta.memoryStores.memories.delete(memory.id, {
              memory_store_id: storeId,
              expected_content_sha256: expected,
            }),
          );
          assert.deepEqual(deleted, { id: memory.id, type: 'memory_deleted' });
        }
        assert.deepEqual(
          (await versionsOf(storeId)).map((version) => version.operation),
          ['created', 'deleted', 'created', 'deleted'],
        );
        await checkClean(fleet.database);
      });
    }

    stress('archive, redact and the end of a store bear a lost reply', engine.skip, async () => {
      const storeId = await newStore();
      const memory = await sdk.beta.memoryStores.memories.create(storeId, { path: '/a', content: 'secret' });
      await sdk.beta.memoryStores.memories.update(memory.id, { memory_store_id: storeId, content: 'clean' });
      const redacted = await losing(1, () =>
        sdk.beta.memoryStores.memoryVersions.redact(memory.memory_version_id, { memory_store_id: storeId }),
      );
      assert.notEqual(redacted.redacted_at, null);
      const archived = await losing(1, () => sdk.beta.memoryStores.archive(storeId));
      assert.notEqual(archived.archived_at, null);
      assert.equal((await versionsOf(storeId)).length, 2);
    });

    stress('a second create is a conflict, and the SDK does not repeat it', engine.skip, async () => {
      const storeId = await newStore();
      const body = { path: '/a', content: 'text' };
      const memory = await sdk.beta.memoryStores.memories.create(storeId, body);
      const before = sent;
      await assert.rejects(sdk.beta.memoryStores.memories.create(storeId, body), (error: unknown) => {
        assert.ok(error instanceof Anthropic.ConflictError);
        assert.equal(error.headers?.get('x-should-retry'), 'false');
        return true;
      });
      await assert.rejects(
        sdk.beta.memoryStores.memories.update(memory.id, {
          memory_store_id: storeId,
          content: 'other',
          precondition: { type: 'content_sha256', content_sha256: sha256('another') },
        }),
        Anthropic.ConflictError,
      );
      assert.equal(sent - before, 2);
      assert.equal((await versionsOf(storeId)).length, 1);
    });

    // The header must not become a way to overwrite, or to pass off another's memory as one's own.
    stress('a repeated request is only taken for what the same caller just did', engine.skip, async () => {
      const store = await fleet.newStore();
      const headers = { 'x-stainless-retry-count': '1' };
      const create = (content: string, key = ADMIN_KEY) =>
        fleet.call('POST', `${store}/memories`, { path: '/a', content }, { headers, key });
      const made = await fleet.call('POST', '/mneme/v1/keys', { name: 'another' });
      assert.equal(made.status, 200);

      const first = await create('text');
      assert.equal(first.status, 200, 'a repeated request whose first try never arrived creates');
      assert.equal((await create('text')).body.id, first.body.id);
      assert.equal((await create('another text')).status, 409);
      assert.equal((await create('text', made.body.key)).status, 409);
      const url = `${store}/memories/${first.body.id}`;
      assert.equal((await fleet.call('POST', url, { content: 'newer' })).status, 200);
      assert.equal((await create('text')).status, 409, 'what was changed since is not what was created');
      assert.equal((await create('newer')).status, 409, 'what was updated was not created');

      assert.equal((await fleet.call('DELETE', url, undefined, { headers })).status, 200);
      assert.equal((await fleet.call('DELETE', url)).status, 404);
      assert.equal((await fleet.call('DELETE', url, undefined, { headers, key: made.body.key })).status, 404);
      assert.equal((await fleet.call('DELETE', url, undefined, { headers })).status, 200);
      assert.equal((await fleet.all(`${store}/memory_versions`)).length, 3);
      await checkClean(fleet.database);
    });
  });
