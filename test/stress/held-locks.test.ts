import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENGINES, type Engine } from '../support/engines.ts';
import { createDatabase } from '../support/postgres.ts';
import { type Answer, caller, spawnServer } from '../support/server.ts';
import { checkClean, Fleet, type Memory, snapshot } from './fleet.ts';
import { type Hold, hold } from './postgres.ts';
import { stress } from './seed.ts';

const postgres = ENGINES.find((engine) => engine.name === 'postgres') as Engine;
const { skip } = postgres;

/** Whether a promise has settled yet. */
function watch<T>(promise: Promise<T>): { promise: Promise<T>; settled: boolean } {
  const watched = { promise, settled: false };
  const settle = () => {
    watched.settled = true;
  };
  promise.then(settle, settle);
  return watched;
}

/**
 * Races that chance rarely brings about: a lock that is held from outside stops a write in the middle, after its checks
 * and before its commit, until the other operation waits as well or is through.
 */
describe('a write is stopped in the middle on postgres', { skip }, () => {
  let fleet: Fleet;
  before(async () => {
    fleet = await Fleet.start(postgres);
  });
  after(() => fleet?.stop());

  type Kind = { name: string; statement: string; send(store: string, memory: Memory): Promise<Answer> };
  const writes: Kind[] = [
    {
      name: 'a create',
      statement: 'create_memories',
      send: (store) => fleet.call('POST', `${store}/memories`, { path: '/new', content: 'new' }),
    },
    {
      name: 'an update',
      statement: 'update_memory',
      send: (store, { id }) => fleet.call('POST', `${store}/memories/${id}`, { content: 'new' }),
    },
    {
      name: 'a rename',
      statement: 'update_memory',
      send: (store, { id }) => fleet.call('POST', `${store}/memories/${id}`, { path: '/new' }),
    },
    {
      name: 'a delete',
      statement: 'delete_memory',
      send: (store, { id }) => fleet.call('DELETE', `${store}/memories/${id}`),
    },
  ];

  /** Answers the two answers, and whether the end came first although the write was let through. */
  const meet = async (
    held: Hold,
    write: Kind,
    end: { statement: string; send(): Promise<Answer> },
    store: string,
    memory: Memory,
  ) => {
    const writing = watch(write.send(store, memory));
    await held.until(() => held.waiting(write.statement));
    const ending = watch(end.send());
    await held.until(async () => ending.settled || (await held.waiting(end.statement)));
    const overtaken = ending.settled;
    await held.release();
    return { written: await writing.promise, ended: await ending.promise, overtaken };
  };

  for (const write of writes) {
    stress(`${write.name}, and the store is archived: the archive waits`, skip, async () => {
      const store = await fleet.newStore();
      const memory = await fleet.newMemory(store, '/old', 'old');
      const held = await hold(fleet.database, 'LOCK TABLE memory_versions IN SHARE MODE');
      try {
        const archive = { statement: 'archive_store', send: () => fleet.call('POST', `${store}/archive`) };
        const { written, ended, overtaken } = await meet(held, write, archive, store, memory);
        assert.equal(ended.status, 200);
        assert.equal(written.status, 200);
        // Memories of an archived store may be deleted.
        if (write.name !== 'a delete') assert.ok(!overtaken, 'nothing is written after archive was answered');
      } finally {
        await held.release();
      }
      await checkClean(fleet.database);
    });

    stress(`${write.name}, and the store is deleted: nothing of it stays`, skip, async () => {
      const store = await fleet.newStore();
      const memory = await fleet.newMemory(store, '/old', 'old');
      const held = await hold(fleet.database, 'LOCK TABLE memory_versions IN SHARE MODE');
      try {
        const remove = { statement: 'delete_store', send: () => fleet.call('DELETE', store) };
        const { written, ended, overtaken } = await meet(held, write, remove, store, memory);
        assert.equal(ended.status, 200);
        assert.equal(written.status, overtaken ? 404 : 200);
      } finally {
        await held.release();
      }
      // When the store's mark is gone, what is left of it would stay for ever; `verify` finds that.
      for (;;) {
        const deleted = await snapshot(fleet.database, async (read) => {
          let count = 0;
          for await (const each of read.stores()) if (each.deleted) count++;
          return count;
        });
        if (deleted === 0) break;
        await sleep(20);
      }
      await checkClean(fleet.database);
    });

    if (write.name === 'a create') continue;
    stress(`${write.name}, and the current version is redacted: the memory stays whole`, skip, async () => {
      const store = await fleet.newStore();
      const memory = await fleet.newMemory(store, '/old', 'old');
      const held = await hold(fleet.database, 'LOCK TABLE memory_versions IN SHARE MODE');
      try {
        const path = `${store}/memory_versions/${memory.memory_version_id}/redact`;
        const redact = { statement: 'redact_version', send: () => fleet.call('POST', path) };
        const { written, ended } = await meet(held, write, redact, store, memory);
        assert.equal(written.status, 200);
        assert.ok([200, 400].includes(ended.status), JSON.stringify(ended.body));
      } finally {
        await held.release();
      }
      if (write.name !== 'a delete') {
        const { body } = await fleet.call('GET', `${store}/memories/${memory.id}`);
        assert.equal(body.content, write.name === 'a rename' ? 'old' : 'new');
      }
      await checkClean(fleet.database);
    });
  }
});

describe('five servers start at once, and each is at its first key on postgres', { skip }, () => {
  stress('one admin key is minted', skip, async () => {
    const { url, drop } = await createDatabase();
    const database = { dataDir: '', databaseUrl: url, flags: ['--database-url', url] };
    try {
      const held = await hold(database, 'LOCK TABLE workspaces IN SHARE MODE');
      const starting = Array.from({ length: 5 }, () =>
        spawnServer({ ...database, open: () => assert.fail(), drop }, { apiKey: null }),
      );
      const settled = Promise.allSettled(starting);
      try {
        await held.until(() => held.waiting('bootstrap_keys', 5));
      } finally {
        await held.release();
      }
      const servers = (await settled).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      try {
        for (const each of await settled) if (each.status === 'rejected') throw each.reason;
        const keys = servers.flatMap(({ output }) => /^export ANTHROPIC_API_KEY=(\S+)$/m.exec(output.out)?.[1] ?? []);
        assert.equal(keys.length, 1);
        for (const server of servers) {
          const { status, body } = await caller(server.url)('GET', '/mneme/v1/keys', { key: keys[0] as string });
          assert.equal(status, 200);
          assert.equal(body.data.length, 1);
        }
      } finally {
        await Promise.all(servers.map((server) => server.end('SIGKILL')));
      }
    } finally {
      await drop();
    }
  });
});
