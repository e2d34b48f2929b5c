import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { startInProcess, type TestServer } from '../support/server.ts';
import { checkClean, type Item } from './fleet.ts';
import { stress } from './seed.ts';

const START = Date.UTC(2026, 7, 1, 12);
const HOUR = 3_600_000;

for (const engine of ENGINES)
  describe(`the clock steps back on ${engine.name}`, { skip: engine.skip }, () => {
    stress('order, times and ids hold', engine.skip, async (random) => {
      const database = await engine.create();
      const servers: TestServer[] = [];
      let time = START;
      try {
        servers.push(await startInProcess(database, { now: () => time }));
        // On PostgreSQL the clocks of two servers differ as well.
        if (engine.name === 'postgres') servers.push(await startInProcess(database, { now: () => time - HOUR / 2 }));
        const call = async (method: string, path: string, body?: object): Promise<Item> => {
          const answer = await random.pick(servers).call(method, path, { body });
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          time += random.pick([0, 0, 1, 5000, -1, -1, -5000, -HOUR, HOUR / 2]);
          return answer.body;
        };
        const all = async (path: string): Promise<Item[]> => {
          const items: Item[] = [];
          for (let page: string | null = ''; page !== null; ) {
            const url: string = `${path}?limit=13${page === '' ? '' : `&page=${page}`}`;
            const { body } = await (servers[0] as TestServer).call('GET', url);
            items.push(...body.data);
            page = body.next_page;
          }
          return items;
        };

        const ids = new Set<string>();
        const isNew = (id: string) => {
          assert.ok(!ids.has(id), `${id} is unique`);
          ids.add(id);
        };
        const stores: string[] = [];
        for (let i = 0; i < 30; i++) {
          const { id } = await call('POST', '/v1/memory_stores', { name: `store ${i}` });
          isNew(id);
          stores.unshift(id);
        }
        assert.deepEqual(
          (await all('/v1/memory_stores')).map((each) => each.id),
          stores,
          'stores are listed newest first by the order of creation',
        );

        const store = `/v1/memory_stores/${stores[0]}`;
        const written: { version: string; memory: string }[] = [];
        const memories = new Map<string, Item>();
        for (let i = 0; i < 150; i++) {
          const known = [...memories.values()];
          const dice = random.next();
          if (known.length < 3 || dice < 0.2) {
            const memory = await call('POST', `${store}/memories`, { path: `/${i}`, content: `text ${i}` });
            isNew(memory.id);
            isNew(memory.memory_version_id);
            assert.equal(memory.created_at, memory.updated_at);
            memories.set(memory.id, memory);
            written.unshift({ version: memory.memory_version_id, memory: memory.id });
            continue;
          }
          const before = random.pick(known);
          const url = `${store}/memories/${before.id}`;
          if (dice < 0.3) {
            await call('DELETE', url);
            memories.delete(before.id);
            written.unshift({ version: '', memory: before.id });
            continue;
          }
          const memory = await call('POST', url, dice < 0.6 ? { path: `/moved/${i}` } : { content: `text ${i}` });
          isNew(memory.memory_version_id);
          assert.equal(memory.created_at, before.created_at);
          assert.ok(memory.updated_at >= before.updated_at, 'updated_at never decreases');
          memories.set(memory.id, memory);
          written.unshift({ version: memory.memory_version_id, memory: memory.id });
        }

        const versions = await all(`${store}/memory_versions`);
        assert.equal(versions.length, written.length);
        versions.forEach((version, i) => {
          assert.equal(
            version.memory_id,
            written[i]?.memory,
            'versions are listed newest first by the order of writing',
          );
          if (version.operation === 'deleted') isNew(version.id);
          else assert.equal(version.id, written[i]?.version);
        });
        for (const id of new Set(versions.map((version) => version.memory_id))) {
          const times = versions.filter((version) => version.memory_id === id).map((version) => version.created_at);
          assert.deepEqual(times, [...times].sort().reverse(), 'the times of a history never decrease');
        }

        let updated = (await call('GET', store)).updated_at;
        for (let i = 0; i < 20; i++) {
          const after = (await call('POST', store, { name: `renamed ${i}` })).updated_at;
          assert.ok(after >= updated, 'updated_at of a store never decreases');
          updated = after;
        }
        time -= 24 * HOUR;
        const archived = await (servers.at(-1) as TestServer).call('POST', `${store}/archive`);
        assert.ok(archived.body.archived_at >= updated, 'a store is archived after its last change');
        await checkClean(database);
      } finally {
        for (const server of servers) await server.stop();
        await database.drop();
      }
    });
  });
