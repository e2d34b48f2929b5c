import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Database, ENGINES } from '../support/engines.ts';
import { createDatabase } from '../support/postgres.ts';
import { caller, type ServerProcess, spawnServer } from '../support/server.ts';
import { need } from '../support/tools.ts';
import { checkClean } from './fleet.ts';
import { createEmptyDatabase, describeSchema } from './postgres.ts';
import { rounds, stress } from './seed.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const [sqlite] = ENGINES as [(typeof ENGINES)[number]];
const postgres = need('postgres');

/** Starts servers at the same moment; those that refused are errors. All that runs is ended by `stop`. */
async function startTogether(database: Database, count: number, flags: string[] = []) {
  const results = await Promise.allSettled(
    Array.from({ length: count }, () => spawnServer(database, { apiKey: null, flags })),
  );
  const servers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const refusals = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  return {
    servers,
    refusals,
    /** Ends the servers; answers the keys that they printed. */
    async stop(): Promise<string[]> {
      const closed = servers.map(({ child }) => (child.stdout?.closed ? null : once(child, 'close')));
      const codes = await Promise.all(servers.map((server) => server.end()));
      await Promise.all(closed);
      for (const code of codes) assert.equal(code, 0);
      return servers.flatMap(({ output }) =>
        [...output.out.matchAll(/^export ANTHROPIC_API_KEY=(\S+)$/gm)].map(([, key]) => key as string),
      );
    },
  };
}

/** The first key that one of the servers prints. */
async function printedKey(servers: ServerProcess[]): Promise<string> {
  for (;;) {
    for (const { output } of servers) {
      const key = /^export ANTHROPIC_API_KEY=(\S+)\n/m.exec(output.out)?.[1];
      if (key) return key;
    }
    await sleep(10);
  }
}

/** Fails unless the key is known to every server and is the only one there is. */
async function checkOnlyKey(servers: ServerProcess[], key: string): Promise<void> {
  for (const { url } of servers) {
    const keys = await caller(url)('GET', '/mneme/v1/keys', { key });
    assert.equal(keys.status, 200, JSON.stringify(keys.body));
    assert.equal(keys.body.data.length, 1);
    const workspaces = await caller(url)('GET', '/mneme/v1/workspaces', { key });
    assert.equal(workspaces.body.data.length, 1);
  }
}

describe('servers start at once on an empty PostgreSQL database', { skip: postgres.skip }, () => {
  for (const count of [2, 5])
    stress(`${count} processes: the schema is right, and one admin key is minted`, postgres.skip, async () => {
      const { url, drop } = await createDatabase();
      const expected = await describeSchema(url).finally(drop);
      assert.ok(expected.length > 50);
      await rounds(2, async () => {
        const database = await createEmptyDatabase();
        try {
          const started = await startTogether(database, count);
          const keys: string[] = [];
          try {
            assert.deepEqual(started.refusals, []);
            const key = await printedKey(started.servers);
            await checkOnlyKey(started.servers, key);
            const created = await caller(started.servers[0]?.url as string)('POST', '/v1/memory_stores', {
              key,
              body: { name: 'first' },
            });
            assert.equal(created.status, 200);
          } finally {
            keys.push(...(await started.stop()));
          }
          assert.equal(keys.length, 1, 'one key was printed');
          assert.deepEqual(await describeSchema(database.databaseUrl as string), expected);
          await checkClean(database);
        } finally {
          await database.drop();
        }
      });
    });

  stress('killed in the middle of the first start: the next one completes it', postgres.skip, async (random) => {
    const { url, drop } = await createDatabase();
    const expected = await describeSchema(url).finally(drop);
    await rounds(3, async () => {
      const database = await createEmptyDatabase();
      try {
        await killWhileStarting(database, random.between(150, 700));
        const server = await spawnServer(database);
        assert.equal((await server.call('GET', '/v1/memory_stores')).status, 200);
        assert.equal(await server.end(), 0);
        assert.deepEqual(await describeSchema(database.databaseUrl as string), expected);
      } finally {
        await database.drop();
      }
    });
  });
});

/** Starts a server and kills it after some milliseconds, wherever it is by then. */
async function killWhileStarting(database: Database, milliseconds: number): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...database.flags], { stdio: 'ignore' });
  const closed = once(child, 'close');
  await sleep(milliseconds);
  child.kill('SIGKILL');
  await closed;
}

describe('servers start at once on one SQLite directory', () => {
  stress('killed in the middle of the first start: the next one completes it', undefined, (random) =>
    rounds(3, async () => {
      const database = await sqlite.create();
      try {
        await killWhileStarting(database, random.between(150, 700));
        const server = await spawnServer(database);
        assert.equal((await server.call('GET', '/v1/memory_stores')).status, 200);
        assert.equal(await server.end(), 0);
        await checkClean(database);
      } finally {
        await database.drop();
      }
    }),
  );

  stress('one runs, and the others are refused with the reason', undefined, () =>
    rounds(2, async () => {
      const database = await sqlite.create();
      try {
        const started = await startTogether(database, 5);
        try {
          assert.equal(started.servers.length, 1, started.refusals.join('\n'));
          for (const refusal of started.refusals) {
            assert.match(refusal, /the server ended with 1:\nmneme: Another mneme server is running on \S+\. Stop it/);
            assert.ok(refusal.includes(database.dataDir));
          }
          await checkOnlyKey(started.servers, await printedKey(started.servers));

          // One that comes later is refused as well, and the first does not notice.
          const late = await startTogether(database, 1);
          await late.stop();
          assert.match(late.refusals.join(), /Another mneme server is running/);
          assert.equal((await caller(started.servers[0]?.url as string)('GET', '/readyz')).status, 200);
        } finally {
          assert.equal((await started.stop()).length, started.servers.length);
        }
        await checkClean(database);

        // The directory is free again, and its key is not minted twice.
        const again = await startTogether(database, 1);
        assert.deepEqual(again.refusals, []);
        assert.deepEqual(await again.stop(), []);
      } finally {
        await database.drop();
      }
    }),
  );
});
