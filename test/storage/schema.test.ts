import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import postgres from 'postgres';
import { type Database, ENGINES } from '../support/engines.ts';
import { mneme } from '../support/server.ts';

const [sqlite, pg] = ENGINES as [(typeof ENGINES)[number], (typeof ENGINES)[number]];

/** Compares with the committed dump; `MNEME_TEST_UPDATE_SCHEMA=1` writes it anew after a migration was added. */
function compare(name: string, dump: string): void {
  const file = new URL(`../schema/${name}.sql`, import.meta.url);
  if (process.env.MNEME_TEST_UPDATE_SCHEMA) writeFileSync(file, dump);
  assert.equal(dump, readFileSync(file, 'utf8'), `${name}.sql is not the migrated schema`);
}

type Column = { table: string; column: string; nullable: boolean };

function sqliteColumns(db: DatabaseSync): Column[] {
  return db
    .prepare(
      `SELECT m.name AS "table", c.name AS "column", c."notnull" AS required FROM sqlite_schema m
       JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2`,
    )
    .all()
    .map((row) => ({ table: String(row.table), column: String(row.column), nullable: row.required === 0 }));
}

async function inSqlite<T>(read: (db: DatabaseSync, database: Database) => T): Promise<Awaited<T>> {
  const database = await sqlite.create();
  await (await database.open()).close();
  const db = new DatabaseSync(join(database.dataDir, 'mneme.db'));
  try {
    return await read(db, database);
  } finally {
    if (db.isOpen) db.close();
    await database.drop();
  }
}

describe('schema', () => {
  test('SQLite: the migrations make the committed schema', () =>
    inSqlite((db) => {
      const rows = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name').all();
      compare('sqlite', `${rows.map((row) => `${row.sql};`).join('\n')}\n`);
    }));

  test('PostgreSQL: the migrations make the committed schema', { skip: pg.skip }, async () => {
    const database = await pg.create();
    const dump = execFileSync('pg_dump', ['--schema-only', '--no-owner', database.databaseUrl as string], {
      encoding: 'utf8',
    });
    await database.drop();
    // Comments and settings name the version of the tool; newer ones add a random \restrict line.
    const lines = dump.split('\n').filter((line) => line !== '' && !/^(--|SET |SELECT pg_catalog|\\)/.test(line));
    compare('postgres', `${lines.join('\n')}\n`);
  });

  test('the two engines have the same tables, columns and nullability', { skip: pg.skip }, async () => {
    const database = await pg.create();
    const sql = postgres(database.databaseUrl as string, { max: 1, onnotice: () => {} });
    const rows = await sql<{ table: string; column: string; nullable: string }[]>`
      SELECT table_name AS "table", column_name AS "column", is_nullable AS nullable
      FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> 'schema_migrations'`;
    await sql.end();
    await database.drop();
    const name = (each: Column) => `${each.table}.${each.column}${each.nullable ? ' null' : ''}`;
    const inPostgres = rows.map((row) => name({ ...row, nullable: row.nullable === 'YES' })).sort();
    assert.deepEqual(inPostgres, (await inSqlite(sqliteColumns)).map(name).sort());
  });

  test('SQLite: a schema of a newer release is refused untouched, by every command', () =>
    inSqlite(async (db, database) => {
      db.exec('PRAGMA user_version = 999');
      await assert.rejects(database.open(), /newer release/);
      assert.match((await mneme(['verify', ...database.flags])).err, /newer release/);
      assert.deepEqual({ ...db.prepare('PRAGMA user_version').get() }, { user_version: 999 });
    }));

  test('PostgreSQL: a schema of a newer release is refused untouched, by every command', {
    skip: pg.skip,
  }, async () => {
    const database = await pg.create();
    const sql = postgres(database.databaseUrl as string, { max: 1, onnotice: () => {} });
    await sql`INSERT INTO schema_migrations (number, applied_at) VALUES (999, 0)`;
    await assert.rejects(database.open(), /newer release/);
    assert.match((await mneme(['verify', ...database.flags])).err, /newer release/);
    await sql.end();
    await database.drop();
  });

  test('SQLite: a file of another program is refused untouched', () =>
    inSqlite(async (db, database) => {
      db.exec('PRAGMA application_id = 1; PRAGMA user_version = 0');
      await assert.rejects(database.open(), /another program/);
    }));
});
