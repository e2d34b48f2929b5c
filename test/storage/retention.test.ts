import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { verify } from '../../src/domain/verify.ts';
import { createLog } from '../../src/log.ts';
import { startSweeper } from '../../src/worker/sweeper.ts';
import { ENGINES } from '../support/engines.ts';
import { startInProcess } from '../support/server.ts';

const DAY = 86_400_000;

for (const engine of ENGINES)
  describe(`retention on ${engine.name}`, { skip: engine.skip }, () => {
    /** Runs `write` at day 0 and the rule at a later day; answers what versions remain, newest first. */
    async function remaining(
      settings: { versionRetentionDays: number; keepRecentVersions: number },
      write: (
        call: (method: string, path: string, body?: object) => Promise<{ id: string }>,
        wait: (days: number) => void,
      ) => Promise<void>,
      days: number,
    ): Promise<{ operation: string; content: string | null }[]> {
      const database = await engine.create();
      let now = Date.UTC(2026, 0, 1);
      const server = await startInProcess(database, { now: () => now });
      try {
        const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
        const root = `/v1/memory_stores/${store.id}`;
        const call = async (method: string, path: string, body?: object) => {
          const answer = await server.call(method, `${root}/memories${path}`, { body });
          assert.equal(answer.status, 200);
          return answer.body;
        };
        await write(call, (days) => {
          now += days * DAY;
        });
        now = Date.UTC(2026, 0, 1) + days * DAY;
        const { storage } = server.server.world;
        const sweeper = startSweeper({ storage, now: () => now, log: createLog('silent'), ...settings });
        await sweeper.expire();
        await sweeper.stop();
        assert.deepEqual((await storage.snapshot(verify)).problems, []);
        const list = await server.call('GET', `${root}/memory_versions?view=full&limit=20`);
        return list.body.data.map(({ operation, content }: { operation: string; content: string }) => ({
          operation,
          content,
        }));
      } finally {
        await server.stop();
        await database.drop();
      }
    }

    const write12: Parameters<typeof remaining>[1] = async (call) => {
      const memory = await call('POST', '', { path: '/a.md', content: '1' });
      for (let i = 2; i <= 12; i++) await call('POST', `/${memory.id}`, { content: String(i) });
    };
    const contents = (versions: { content: string | null }[]) => versions.map((version) => version.content);

    test('the newest 10 of a live memory stay for ever, older ones until they are 30 days old', async () => {
      const settings = { versionRetentionDays: 30, keepRecentVersions: 10 };
      assert.equal((await remaining(settings, write12, 29)).length, 12);
      const left = contents(await remaining(settings, write12, 31));
      assert.deepEqual(left, ['12', '11', '10', '9', '8', '7', '6', '5', '4', '3']);
    });

    test('both numbers are settings; 0 days keeps all; the current version always stays', async () => {
      assert.deepEqual(contents(await remaining({ versionRetentionDays: 1, keepRecentVersions: 2 }, write12, 2)), [
        '12',
        '11',
      ]);
      assert.equal((await remaining({ versionRetentionDays: 0, keepRecentVersions: 1 }, write12, 9999)).length, 12);
      const none = await remaining({ versionRetentionDays: 1, keepRecentVersions: 0 }, write12, 9999);
      assert.deepEqual(contents(none), ['12']);
    });

    test('a deleted memory keeps its versions for the period after its deletion, then loses all', async () => {
      const settings = { versionRetentionDays: 30, keepRecentVersions: 10 };
      const write: Parameters<typeof remaining>[1] = async (call, wait) => {
        const memory = await call('POST', '', { path: '/a.md', content: '1' });
        wait(20);
        await call('POST', `/${memory.id}`, { content: '2' });
        wait(20);
        await call('DELETE', `/${memory.id}`);
      };
      const kept = await remaining(settings, write, 69);
      assert.deepEqual(
        kept.map((version) => version.operation),
        ['deleted', 'modified', 'created'],
      );
      assert.deepEqual(await remaining(settings, write, 71), []);
    });

    test('a renamed memory keeps its text when the version that brought it goes', async () => {
      const left = await remaining(
        { versionRetentionDays: 30, keepRecentVersions: 1 },
        async (call) => {
          const memory = await call('POST', '', { path: '/a.md', content: 'text' });
          await call('POST', `/${memory.id}`, { path: '/b.md' });
        },
        31,
      );
      assert.deepEqual(left, [{ operation: 'modified', content: 'text' }]);
    });
  });
