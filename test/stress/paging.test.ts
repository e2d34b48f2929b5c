import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type Database, ENGINES } from '../support/engines.ts';
import { startInProcess, type TestServer } from '../support/server.ts';
import type { Item } from './fleet.ts';
import { type Random, stress } from './seed.ts';

// Every row of these tests has this time of creation.
const NOW = Date.UTC(2026, 7, 1);
const WRITERS = 4;

/** Walks a list page by page while the writers write; `between` runs before each further page. */
async function walk(
  server: TestServer,
  path: string,
  limit: number,
  between: (shown: Item[]) => Promise<void>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const url: string = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${page === '' ? '' : `&page=${page}`}`;
    const { status, body } = await server.call('GET', url);
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.data.length <= limit);
    items.push(...body.data);
    assert.ok(body.next_page === null || body.next_page !== page, 'each page goes on from the one before');
    page = body.next_page;
    await between(body.data);
  }
  return items;
}

/** Fails unless each of `throughout` was shown once. */
function expectOnce(shown: string[], throughout: Iterable<string>): void {
  const times = new Map<string, number>();
  for (const each of shown) times.set(each, (times.get(each) ?? 0) + 1);
  for (const each of throughout) assert.equal(times.get(each), 1, `${each} is shown once`);
}

/** Runs writers in the background until `body` is done; a writer's failure is the test's. */
async function besideWriters<T>(write: () => Promise<void>, body: () => Promise<T>): Promise<T> {
  let done = false;
  let turns = 0;
  const writer = async () => {
    while (!done) {
      await write();
      turns++;
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, writer));
  try {
    const result = await Promise.race([body(), writers.then(() => assert.fail('a writer ended early'))]);
    assert.ok(turns > 0, 'others wrote meanwhile');
    return result;
  } finally {
    done = true;
    await writers;
  }
}

for (const engine of ENGINES)
  describe(`paging while others write on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let reader: TestServer;
    /** Another server on PostgreSQL; on SQLite the same. */
    let other: TestServer;
    before(async () => {
      database = await engine.create();
      reader = await startInProcess(database, { now: () => NOW });
      other = engine.name === 'postgres' ? await startInProcess(database, { now: () => NOW }) : reader;
    });
    after(async () => {
      await reader?.stop();
      if (other !== reader) await other?.stop();
      await database?.drop();
    });

    const write = async (method: string, path: string, body?: object): Promise<Item> => {
      const answer = await other.call(method, path, { body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    const newStore = async (name = 'store') =>
      `/v1/memory_stores/${(await write('POST', '/v1/memory_stores', { name })).id}`;

    stress('the list of stores', engine.skip, async (random) => {
      const throughout: string[] = [];
      const passing: string[] = [];
      for (let i = 0; i < 120; i++) (i % 3 === 0 ? passing : throughout).push(await newStore());
      const change = async () => {
        if (random.next() < 0.5 && passing.length > 0) {
          const [gone] = passing.splice(random.between(0, passing.length - 1), 1);
          if (random.next() < 0.5) await write('DELETE', gone as string);
          else await write('POST', `${gone}/archive`);
        } else passing.push(await newStore());
      };
      for (const limit of [1, 7, 50]) {
        const expected = new Set(throughout);
        const shown = await besideWriters(change, () =>
          walk(reader, '/v1/memory_stores', limit, async (page) => {
            // The very row that the cursor names goes.
            const last = `/v1/memory_stores/${page.at(-1)?.id}`;
            const position = throughout.indexOf(last);
            if (position === -1 || random.next() < 0.7) return;
            throughout.splice(position, 1);
            await write('DELETE', last);
          }),
        );
        const paths = shown.map((store) => `/v1/memory_stores/${store.id}`);
        expectOnce(paths, expected);
        expectOnce(paths, paths);
      }
    });

    /** A store with directories; some memories are there throughout, the others come and go, and move. */
    const fill = async (store: string) => {
      const throughout: Item[] = [];
      const passing: Item[] = [];
      for (let i = 0; i < 100; i++) {
        // Names that order by bytes differs from other orders for, right before and after the "/" of a directory too,
        // and files between directories.
        const dir = ['/a', '/a b', '/a-', '/a0', '/B', '/z/y', '/\u{ffee}', '/\u{1f600}'][i % 8];
        const path = i % 5 === 0 ? `/${i % 2 === 0 ? '' : 'a0'}${i}` : `${dir}/${i}`;
        const memory = await write('POST', `${store}/memories`, { path, content: '' });
        (i % 3 === 0 ? passing : throughout).push(memory);
      }
      return { throughout, passing };
    };

    // No path is used twice, in no round.
    let count = 0;
    const changeMemories = (random: Random, store: string, passing: Item[]) => {
      return async () => {
        const dir = random.pick(['', '/a', '/a b', '/B', '/z/y', '/new', `/new ${++count}`]);
        const path = `${dir}/w${++count}`;
        const dice = random.next();
        if (dice < 0.4 || passing.length === 0) {
          passing.push(await write('POST', `${store}/memories`, { path, content: '' }));
          return;
        }
        const [memory] = passing.splice(random.between(0, passing.length - 1), 1) as [Item];
        if (dice < 0.7) await write('DELETE', `${store}/memories/${memory.id}`);
        else passing.push(await write('POST', `${store}/memories/${memory.id}`, { path }));
      };
    };

    stress('the list of memories', engine.skip, async (random) => {
      const store = await newStore();
      const { throughout, passing } = await fill(store);
      for (const limit of [1, 7, 50]) {
        const expected = throughout.map((memory) => memory.id);
        const shown = await besideWriters(changeMemories(random, store, passing), () =>
          walk(reader, `${store}/memories`, limit, async (page) => {
            const last = throughout.findIndex((memory) => memory.id === page.at(-1)?.id);
            if (last === -1 || random.next() < 0.7) return;
            const [memory] = throughout.splice(last, 1) as [Item];
            if (random.next() < 0.5) await write('DELETE', `${store}/memories/${memory.id}`);
            // It goes where the list has been already, so that it is shown once all the same.
            else await write('POST', `${store}/memories/${memory.id}`, { path: `/!/${memory.id}` });
          }),
        );
        expectOnce(
          shown.map((memory) => memory.id),
          expected,
        );
        const paths = shown.map((memory) => Buffer.from(memory.path));
        assert.ok(paths.every((path, i) => i === 0 || Buffer.compare(paths[i - 1] as Buffer, path) < 0));
      }
    });

    stress('the list of the children of a directory', engine.skip, async (random) => {
      const store = await newStore();
      const { throughout, passing } = await fill(store);
      // Each directory keeps one memory while what else it holds comes and goes.
      const children = new Set(throughout.map(({ path }) => /^\/[^/]+\/?/.exec(path)?.[0] as string));
      assert.ok(children.size >= 20);
      for (const limit of [1, 4, 50]) {
        const shown = await besideWriters(changeMemories(random, store, passing), () =>
          walk(reader, `${store}/memories?depth=1`, limit, async (page) => {
            // The directory that the cursor names grows at its end.
            const last = page.at(-1)?.path;
            if (last?.endsWith('/'))
              passing.push(
                await write('POST', `${store}/memories`, { path: `${last}~${random.between(0, 1e9)}`, content: '' }),
              );
          }),
        );
        const paths = shown.map((entry) => entry.path);
        expectOnce(paths, children);
        expectOnce(paths, paths);
      }
    });

    stress('the list of versions', engine.skip, async (random) => {
      const store = await newStore();
      const memories: Item[] = [];
      for (let i = 0; i < 5; i++)
        memories.push(await write('POST', `${store}/memories`, { path: `/${i}`, content: 'first' }));
      let count = 0;
      const change = async () => {
        const url = `${store}/memories/${random.pick(memories).id}`;
        await write(
          'POST',
          url,
          random.next() < 0.7 ? { content: `text ${++count}` } : { path: `/renamed ${++count}` },
        );
      };
      for (let i = 0; i < 80; i++) await change();
      for (const [limit, filter] of [
        [1, `?memory_id=${memories[0]?.id}`],
        [7, ''],
        [50, '?operation=modified'],
      ] as const) {
        const path = `${store}/memory_versions${filter}`;
        const throughout = await walk(reader, path, 100, async () => {});
        const heads = new Set(memories.map((memory) => memory.id));
        const shown = await besideWriters(change, () =>
          walk(reader, path, limit, async (page) => {
            // The version that the cursor names loses its text; it stays in the list.
            const last = page.at(-1);
            if (!last || last.operation === 'created' || random.next() < 0.7) return;
            const answer = await other.call('POST', `${store}/memory_versions/${last.id}/redact`);
            assert.ok(answer.status === 200 || (answer.status === 400 && heads.has(last.memory_id)));
          }),
        );
        const ids = shown.map((version) => version.id);
        expectOnce(
          ids,
          throughout.map((version) => version.id),
        );
        expectOnce(ids, ids);
        const common = new Set(throughout.map((version) => version.id));
        assert.deepEqual(
          ids.filter((id) => common.has(id)),
          throughout.map((version) => version.id),
          'in the order of the first list',
        );
      }
    });
  });
