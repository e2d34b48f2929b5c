import assert from 'node:assert/strict';
import { chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import type { Database } from '../support/engines.ts';
import { type ServerProcess, spawnServer } from '../support/server.ts';
import { need } from '../support/tools.ts';
import { startPostgres } from '../tools/postgres.ts';
import { checkClean } from './fleet.ts';
import { Ledger } from './full-disk.ts';
import { createEmptyDatabase, onDatabase } from './postgres.ts';
import { rounds, stress } from './seed.ts';
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts';

const skip = need('postgres').skip ?? whyNoSmallDisk();

/**
 * An empty database whose tables lie on a small disk, in a cluster of its own: while the disk is full, the checkpoints
 * of the whole cluster fail. The write-ahead log lies elsewhere; a PostgreSQL that finds no room for that one stops,
 * which is a database that can't be reached.
 */
async function onSmallDisk(
  megabytes: number,
  body: (disk: SmallDisk, database: Database, start: () => Promise<ServerProcess>) => Promise<void>,
): Promise<void> {
  const cluster = await startPostgres(new AbortController().signal);
  if ('missing' in cluster) throw new Error(cluster.missing);
  const servers: ServerProcess[] = [];
  let disk: SmallDisk | undefined;
  try {
    disk = mountSmallDisk(megabytes);
    const folder = join(disk.path, 'tablespace');
    mkdirSync(folder);
    const { uid, gid } = statSync(cluster.data);
    chownSync(folder, uid, gid);
    await onDatabase(cluster.url, (sql) => sql.unsafe(`CREATE TABLESPACE small LOCATION '${folder}'`));
    const database = await createEmptyDatabase(cluster.url, 'TABLESPACE small');
    await body(disk, database, async () => {
      const server = await spawnServer(database);
      servers.push(server);
      return server;
    });
  } finally {
    for (const server of servers) await server.end('SIGKILL');
    await cluster.stop();
    await disk?.unmount();
  }
}

describe('the disk below PostgreSQL tables is full', { skip }, () => {
  stress('writes are refused, reads go on, and service returns with the space', skip, (random) =>
    onSmallDisk(20, async (disk, database, start) => {
      let server = await start();
      const ledger = new Ledger(random);
      await ledger.begin(server);
      const leaves = [0, 300_000];
      await rounds(leaves.length, async (round) => {
        await ledger.writeFreely(server, 10);
        disk.fill(leaves[round - 1] as number);
        await ledger.writeUntilFull(server);
        await ledger.check(server);
        await checkClean(database);
        // A start needs no room: what is there can be read.
        await server.end('SIGKILL');
        server = await start();
        await ledger.check(server);
        disk.clear();
        await ledger.writeFreely(server, 10);
        await ledger.check(server);
        await checkClean(database);
      });

      await ledger.writeUntilFull(server);
      await ledger.check(server);
      assert.equal(await server.end(), 0);
      await checkClean(database);
    }),
  );

  stress('at the first start it says so, and a later one succeeds', skip, () =>
    onSmallDisk(12, async (disk, database, start) => {
      // With its first connection PostgreSQL writes a file of its own, without which it takes no other connection.
      await onDatabase(database.databaseUrl as string, (sql) => sql`SELECT 1`);
      for (const leave of [0, 40_000, 200_000]) {
        disk.fill(leave);
        await assert.rejects(start(), /disk .*full.*Free space/is);
        disk.clear();
      }
      const server = await start();
      assert.equal((await server.call('GET', '/v1/memory_stores')).status, 200);
      assert.equal(await server.end(), 0);
      await checkClean(database);
    }),
  );
});
