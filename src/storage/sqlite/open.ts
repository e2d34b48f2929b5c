import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { loadMigrations, newerSchemaMessage } from '../migrations.ts';
import type { ScrubResult, Storage } from '../storage.ts';
import type { Connection } from './connection.ts';
import { APPLICATION_ID, isBusy, openConnection, statements, translate } from './database.ts';
import { createKeys } from './keys.ts';
import { createMemories } from './memories.ts';
import { createSnapshot } from './snapshot.ts';
import { createStores } from './stores.ts';
import { createVersions } from './versions.ts';
import { Writer } from './writer.ts';

/** The database file of a data directory. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, 'mneme.db');
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/**
 * Brings the schema to this release's. Two processes that start at once take turns at BEGIN IMMEDIATE, and the second
 * finds nothing to do. A file of another program and a schema of a newer release are refused untouched.
 */
export function migrate(db: DatabaseSync): void {
  const migrations = loadMigrations('sqlite');
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = pragma(db, 'user_version');
    const tables = Number((db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n);
    if (tables > 0 && pragma(db, 'application_id') !== APPLICATION_ID)
      throw new Error('The file is an SQLite database of another program. Give a data directory of its own.');
    if (version > migrations.length) throw new Error(newerSchemaMessage(version, migrations.length));
    // Nothing is written when there is nothing to do: a server starts on a full disk, and serves reads.
    if (version < migrations.length) {
      for (const migration of migrations.slice(version)) db.exec(migration.sql);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      db.exec(`PRAGMA user_version = ${migrations.length}`);
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Holds the data directory for this process: a second server on it is refused instead of sharing the file. The lock
 * is the operating system's, on a file of its own, so it goes with the process however that ends.
 */
function lockDirectory(dataDir: string): DatabaseSync {
  const lock = new DatabaseSync(join(dataDir, 'lock'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw translate(error);
    throw new Error(
      `Another mneme server is running on ${dataDir}. Stop it, or give this one its own --data-dir. To run several servers as one service, use PostgreSQL (--database-url).`,
      { cause: error },
    );
  }
}

/** Opens (and on first use creates) the database of a data directory as the only server on it. */
export function openSqlite(dataDir: string): Storage {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(dataDir);
  let raw: DatabaseSync;
  try {
    raw = openConnection(databaseFile(dataDir));
    migrate(raw);
  } catch (error) {
    lock.close();
    throw translate(error);
  }
  const writer = new Writer(raw);
  const db: Connection = {
    raw,
    sql: statements(raw, { tuples: false }),
    tuples: statements(raw, { tuples: true }),
    beginReads: () => writer.beginReads(),
    write: (job) => writer.write(job),
  };

  return {
    engine: 'sqlite',
    stores: createStores(db),
    memories: createMemories(db),
    versions: createVersions(db),
    keys: createKeys(db),
    snapshot: (read) => readSnapshot(databaseFile(dataDir), read),
    scrub: () =>
      // Between two batches no statement is open on this connection; a reader elsewhere (a backup) can still hold the
      // log, and then the next sweep tries again.
      new Promise((resolve, reject) => {
        try {
          writer.endReads();
          const last = db.sql('SELECT max(seq) AS seq FROM pending_scrubs').get() as { seq: number | null };
          if (last.seq === null) {
            resolve({ remaining: 0 });
            return;
          }
          const result = raw.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
          if (result.busy !== 0) {
            resolve({ remaining: 1 });
            return;
          }
          const seq = last.seq;
          writer
            .write(() => {
              db.sql('DELETE FROM pending_scrubs WHERE seq <= ?').run(seq);
              return { remaining: 0 };
            })
            .then(resolve, reject);
        } catch (error) {
          reject(translate(error));
        }
      }),
    ping: async () => {
      db.sql('SELECT 1').get();
    },
    close: async () => {
      writer.close();
      raw.close();
      lock.close();
    },
  };
}

async function readSnapshot<T>(
  file: string,
  read: (snapshot: ReturnType<typeof createSnapshot>) => Promise<T>,
): Promise<T> {
  if (!existsSync(file)) throw new Error(`There is no database at ${file}. Check --data-dir.`);
  const db = openConnection(file, { readOnly: true });
  try {
    const known = loadMigrations('sqlite').length;
    const found = pragma(db, 'user_version');
    if (found > known) throw new Error(newerSchemaMessage(found, known));
    db.exec('BEGIN');
    return await read(createSnapshot(db));
  } finally {
    db.close();
  }
}

/** Reads the database of a data directory, whether or not a server runs on it. */
export function snapshotSqlite<T>(
  dataDir: string,
  read: (snapshot: ReturnType<typeof createSnapshot>) => Promise<T>,
): Promise<T> {
  return readSnapshot(databaseFile(dataDir), read);
}

/**
 * Copies the database of a data directory to a new file, consistently, while a server may be writing: SQLite's online
 * backup in one step, so that writers can't make it start over.
 */
export async function backupSqlite(dataDir: string, target: string): Promise<void> {
  const file = databaseFile(dataDir);
  if (!existsSync(file)) throw new Error(`There is no database at ${file}. Check --data-dir.`);
  if (existsSync(target)) throw new Error(`${target} exists already. Give the name of a new file.`);
  mkdirSync(dirname(target), { recursive: true });
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  const db = openConnection(file, { readOnly: true });
  try {
    await backup(db, partial, { rate: 2 ** 31 - 1 });
    // The name appears only with a whole copy behind it.
    renameSync(partial, target);
  } finally {
    db.close();
    rmSync(partial, { force: true });
  }
}

/**
 * The operator's scrub of a data directory: rewrites the whole file without its free space and empties the log. The
 * server does the same for each redaction by itself; this is for a log that a reader held, and for peace of mind.
 */
export async function scrubSqlite(dataDir: string): Promise<ScrubResult> {
  const file = databaseFile(dataDir);
  if (!existsSync(file)) throw new Error(`There is no database at ${file}. Check --data-dir.`);
  const db = openConnection(file);
  try {
    const last = db.prepare('SELECT count(*) AS n, max(seq) AS seq FROM pending_scrubs').get() as {
      n: number;
      seq: number | null;
    };
    db.exec('VACUUM');
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
    if (busy !== 0)
      return {
        removed: 0,
        remaining: ['A reader holds the log of the database (a backup?). Run this again when it is done.'],
        elsewhere: [],
      };
    db.prepare('DELETE FROM pending_scrubs WHERE seq <= ?').run(last.seq ?? 0);
    const elsewhere = ['Backups and copies of the file from before now hold the removed text.'];
    return { removed: last.n, remaining: [], elsewhere: last.n > 0 ? elsewhere : [] };
  } finally {
    db.close();
  }
}
