import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { encodePage } from '../../src/contract/pages.ts';
import { ENGINES } from '../support/engines.ts';
import { CURSORS, MEMORY_QUERIES, NO_IDS, QUERIES, TARGETS, TIMES, VERSION_QUERIES } from './urls.ts';
import { assertLogClean, assertRefused, type Bytes, CANARY, startTarget, type Target } from './wire.ts';

for (const engine of ENGINES)
  describe(`hostile URLs on ${engine.name}`, { skip: engine.skip }, () => {
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
    afterEach(async () => {
      assert.deepEqual(await target.state(), held);
      assertLogClean(target.server);
    });

    const refuse = async (method: string, path: Bytes, body?: string) => {
      const label = `${method} ${Buffer.from(path as string)
        .toString()
        .slice(0, 200)}`;
      const answer = await target.send({ method, target: path, body });
      assertRefused(answer, label);
      return answer;
    };

    test('nothing but an endpoint is one', async () => {
      for (const path of TARGETS)
        for (const [method, body] of [['GET'], ['DELETE'], ['POST', `{"name":"${CANARY}"}`]] as const)
          await refuse(method, path, body);
    });

    test('an id with anything added is no id, on every endpoint', async () => {
      const { store, memoryId, versionId } = target;
      const endpoints: [string, string, string?][] = [
        ['GET', store],
        ['POST', store, '{"name":"x"}'],
        ['DELETE', store],
        ['GET', `${store}/memories/${memoryId}`],
        ['POST', `${store}/memories/${memoryId}`, '{"content":"x"}'],
        ['DELETE', `${store}/memories/${memoryId}`],
        ['GET', `${store}/memory_versions/${versionId}`],
        ['POST', `${store}/memory_versions/${versionId}`, '{}'],
        ['DELETE', '/mneme/v1/keys/apikey_01'],
      ];
      for (const [method, path, body] of endpoints)
        for (const added of NO_IDS) {
          await refuse(method, Buffer.concat([Buffer.from(path), Buffer.from(added as string)]), body);
          const other = Buffer.from(path.replace(/[^/]*$/, ''));
          await refuse(method, Buffer.concat([other, Buffer.from(added as string)]), body);
        }
    });

    test('an id with anything added is no id in the middle of a path either', async () => {
      const { store, versionId } = target;
      for (const added of NO_IDS) {
        const middle = Buffer.concat([Buffer.from(store), Buffer.from(added as string)]);
        const at = (rest: string) => Buffer.concat([middle, Buffer.from(rest)]);
        await refuse('POST', at('/archive'), '{}');
        await refuse('POST', at('/memories'), '{"path":"/x","content":"x"}');
        await refuse('GET', at('/memories'));
        await refuse('GET', at('/memory_versions?limit=1'));
        await refuse('POST', at(`/memory_versions/${versionId}/redact`), '{}');
      }
    });

    test('a query value that the endpoint does not know, or given twice, is refused', async () => {
      const lists = ['/v1/memory_stores', `${target.store}/memories`, `${target.store}/memory_versions`];
      const times = ['created_at[gte]', 'created_at[lte]', 'created_at%5Bgte%5D'];
      const ofTimes = times.flatMap((name) => [
        ...TIMES.map((value) => `${name}=${value}`),
        `${name}[]=2026-01-01T00:00:00Z`,
        `${name}=2026-01-01T00:00:00Z&created_at[gte]=2026-01-01T00:00:00Z&${name}=2026-01-01T00:00:00Z`,
      ]);
      const others = ['created_at=2026-01-01T00:00:00Z', 'created_at[gt]=2026-01-01T00:00:00Z', 'created_at[]=1'];
      const stores = [
        'include_archived=1',
        'include_archived=',
        'include_archived=TRUE',
        'include_archived=true&include_archived=true',
      ];
      const own = [[...ofTimes, ...others, ...stores], MEMORY_QUERIES, [...ofTimes, ...others, ...VERSION_QUERIES]];
      for (const [i, list] of lists.entries())
        for (const query of [...QUERIES, ...(own[i] as string[])])
          assert.equal((await refuse('GET', `${list}?${query}`)).status, 400, query);
    });

    test('endpoints without a query refuse one, and so do those with other values', async () => {
      const memory = `${target.store}/memories/${target.memoryId}`;
      const hashes = [
        '',
        'x',
        '0'.repeat(63),
        'A'.repeat(64),
        `${'0'.repeat(64)}%00`,
        '0'.repeat(65),
        '%ff'.repeat(64),
      ];
      for (const hash of hashes) await refuse('DELETE', `${memory}?expected_content_sha256=${hash}`);
      const twice = `expected_content_sha256=${'0'.repeat(64)}`;
      await refuse('DELETE', `${memory}?${twice}&${twice}`);
      for (const query of ['view=', 'view=all', 'view=full&view=full', `${CANARY}=1`, '__proto__=1', 'limit=1']) {
        await refuse('GET', `${memory}?${query}`);
        await refuse('POST', `${memory}?${query}`, '{"content":"x"}');
        await refuse('DELETE', `${memory}?${query}`);
        await refuse('GET', `${target.store}?${query}`);
        await refuse('DELETE', `${target.store}?${query}`);
        await refuse('POST', `/v1/memory_stores?${query}`, '{"name":"x"}');
        await refuse('POST', `${target.store}/archive?${query}`);
        await refuse('POST', `${target.store}/memory_versions/${target.versionId}/redact?${query}`, '{}');
        await refuse('POST', `/mneme/v1/keys?${query}`, '{"name":"x"}');
      }
    });

    test('a forged cursor is refused by every list', async () => {
      const lists = ['/v1/memory_stores', `${target.store}/memories`, `${target.store}/memory_versions`];
      for (const list of lists) for (const page of CURSORS) await refuse('GET', `${list}?page=${page}`);
      for (const [i, list] of lists.entries()) {
        const foreign = [encodePage('stores', 1), encodePage('memories', '/a.md'), encodePage('versions', 1)];
        for (const page of foreign.toSpliced(i, 1)) await refuse('GET', `${list}?page=${page}`);
      }
      await refuse('GET', `${lists[1]}?path_prefix=/b/&page=${encodePage('memories', '/a.md')}`);
    });

    test('a cursor beyond all rows is an end, not an error', async () => {
      const far = Number.MAX_SAFE_INTEGER;
      for (const [list, page] of [
        ['/v1/memory_stores', encodePage('stores', 0)],
        [`${target.store}/memories`, encodePage('memories', '/zzz')],
        [`${target.store}/memories`, encodePage('memories', `/${'\u{10ffff}'.repeat(255)}`)],
        [`${target.store}/memory_versions`, encodePage('versions', 0)],
      ]) {
        const { status, body } = await target.server.call('GET', `${list}?page=${page}`);
        assert.deepEqual([status, body], [200, { data: [], next_page: null }]);
      }
      for (const [list, kind] of [
        ['/v1/memory_stores', 'stores'],
        [`${target.store}/memory_versions`, 'versions'],
      ] as const)
        assert.equal((await target.server.call('GET', `${list}?page=${encodePage(kind, far)}`)).status, 200);
    });
  });
