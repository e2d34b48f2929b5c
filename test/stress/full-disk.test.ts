import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe } from 'node:test';
import { openSqlite } from '../../src/storage/sqlite/open.ts';
import type { Database } from '../support/engines.ts';
import { type ServerProcess, spawnServer } from '../support/server.ts';
import { checkClean } from './fleet.ts';
import { Ledger } from './full-disk.ts';
import { rounds, stress } from './seed.ts';
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts';

const SAYS_DISK_IS_FULL = /disk .*full.*Free space/is;
const skip = whyNoSmallDisk();

function databaseOn(disk: SmallDisk): Database {
  const dataDir = join(disk.path, 'data');
  return {
    dataDir,
    databaseUrl: null,
    flags: ['--data-dir', dataDir],
    open: async () => openSqlite(dataDir),
    drop: async () => {},
  };
}

/** The pages that the database has, log included. */
function pagesOf(database: Database): number {
  const db = new DatabaseSync(join(database.dataDir, 'mneme.db'), { readOnly: true });
  try {
    return Number(db.prepare('PRAGMA page_count').get()?.page_count);
  } finally {
    db.close();
  }
}

/** A disk, a database on it, and a way to start servers that all end with the test. */
async function onSmallDisk(
  megabytes: number,
  body: (disk: SmallDisk, database: Database, start: () => Promise<ServerProcess>) => Promise<void>,
): Promise<void> {
  const disk = mountSmallDisk(megabytes);
  const servers: ServerProcess[] = [];
  try {
    const database = databaseOn(disk);
    await body(disk, database, async () => {
      const server = await spawnServer(database);
      servers.push(server);
      return server;
    });
  } finally {
    for (const server of servers) await server.end('SIGKILL');
    await disk.unmount();
  }
}

describe('the disk below SQLite is full', { skip }, () => {
  for (const leave of [0, 100_000, 1_000_000])
    stress(`another file fills it up to ${leave} bytes`, skip, (random) =>
      onSmallDisk(14, async (disk, database, start) => {
        let server = await start();
        const ledger = new Ledger(random);
        await ledger.begin(server);
        await rounds(2, async () => {
          await ledger.writeFreely(server, 10);
          disk.fill(leave);
          await ledger.writeUntilFull(server);
          await ledger.check(server);
          await checkClean(database);
          disk.clear();
          await ledger.writeFreely(server, 10);
          await ledger.check(server);
          await checkClean(database);
        });

        // Killed while the disk is full: the log must be read back without room for anything.
        disk.fill(leave);
        await ledger.writeUntilFull(server);
        await server.end('SIGKILL');
        disk.fill(0);
        const refusal = await start().then(
          async (started) => {
            await ledger.check(started);
            await started.end('SIGKILL');
            return null;
          },
          (error: Error) => error.message,
        );
        if (refusal !== null) assert.match(refusal, SAYS_DISK_IS_FULL);
        disk.clear();
        server = await start();
        await ledger.check(server);
        await ledger.writeFreely(server, 10);
        assert.equal(await server.end(), 0);
        await checkClean(database);
      }),
    );

  stress('the writes fill it, and the server is stopped then', skip, (random) =>
    onSmallDisk(10, async (disk, database, start) => {
      let server = await start();
      const ledger = new Ledger(random);
      await ledger.begin(server);
      disk.fill(disk.free() - 2_000_000);
      await ledger.writeUntilFull(server);
      assert.ok(ledger.size > 20);
      await ledger.check(server);
      await checkClean(database);
      disk.clear();
      await ledger.writeFreely(server, 5);
      await ledger.writeUntilFull(server);
      // What the operator sees is the exit code; it must not hang or fail for want of room.
      assert.equal(await server.end(), 0);
      await checkClean(database);
      server = await start();
      await ledger.check(server);
      assert.equal(await server.end(), 0);
      await checkClean(database);
    }),
  );

  stress('the log can still grow, and the database can not: a checkpoint fails', skip, (random) =>
    onSmallDisk(24, async (disk, database, start) => {
      let server = await start();
      const ledger = new Ledger(random);
      await ledger.begin(server);
      // The log is copied into the database when it has 1,000 pages, 4 MB; that needs as much room again.
      disk.fill(6_000_000);
      await ledger.writeUntilFull(server);
      const size = (name: string) => statSync(join(database.dataDir, name)).size;
      assert.ok(size('mneme.db-wal') > 1000 * 4096, 'the log passed the checkpoint');
      const whole = pagesOf(database) * 4096;
      assert.ok(size('mneme.db') < whole, 'the checkpoint found no room');
      await ledger.check(server);
      await checkClean(database);
      disk.clear();
      await ledger.writeFreely(server, 100);
      assert.ok(size('mneme.db') >= whole, 'a later checkpoint found room');
      await ledger.check(server);
      await server.end('SIGKILL');
      server = await start();
      await ledger.check(server);
      assert.equal(await server.end(), 0);
      await checkClean(database);
    }),
  );

  stress('it is full at the first start: that says so, and a later one succeeds', skip, () =>
    // The last 32 kB: the start gets a little further each time.
    rounds(6, (round) =>
      onSmallDisk(2, async (disk, database, start) => {
        disk.fill(([0, 1, 2, 3, 5, 8][round - 1] as number) * 4096);
        await assert.rejects(start(), SAYS_DISK_IS_FULL);
        disk.clear();
        const server = await start();
        assert.equal((await server.call('GET', '/v1/memory_stores')).status, 200);
        assert.equal(await server.end(), 0);
        await checkClean(database);
      }),
    ),
  );
});
