import { loadMigrations, newerSchemaMessage } from '../migrations.ts';
import type { Session } from './connection.ts';

const OLDEST_VERSION = 150_000;

async function numberOfSchema(session: Session): Promise<number> {
  const [row] = await session.run(
    (sql) => sql<[{ number: number }]>`SELECT coalesce(max(number), 0)::integer AS number FROM schema_migrations`,
  );
  return row.number;
}

/** Refuses a server that can't keep the guarantees. */
async function checkServer(session: Session): Promise<void> {
  const [server] = await session.run(
    (sql) => sql<[{ number: number; version: string; encoding: string }]>`
      SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS version,
        current_setting('server_encoding') AS encoding`,
  );
  if (server.number < OLDEST_VERSION)
    throw new Error(`The server runs PostgreSQL ${server.version}. Mneme needs PostgreSQL 15 or later.`);
  if (server.encoding !== 'UTF8')
    throw new Error(
      `The database has the encoding ${server.encoding}. Mneme needs UTF8: CREATE DATABASE .. ENCODING 'UTF8' TEMPLATE template0.`,
    );
}

/**
 * Brings the schema to this release's. Servers that start at once take turns at the advisory lock (our number, 1), and
 * the second finds nothing to do. The schema of a newer release is refused untouched.
 */
export async function migrate(session: Session): Promise<void> {
  await checkServer(session);
  const migrations = loadMigrations('postgres');
  await session.run((sql) => sql.unsafe('BEGIN'));
  await session.run((sql) => sql`SELECT pg_advisory_xact_lock(1299080557, 1)`);
  await session.run((sql) =>
    sql.unsafe('CREATE TABLE IF NOT EXISTS schema_migrations (number integer PRIMARY KEY, applied_at bigint NOT NULL)'),
  );
  const found = await numberOfSchema(session);
  if (found > migrations.length) throw new Error(newerSchemaMessage(found, migrations.length));
  for (const migration of migrations.slice(found)) {
    await session.run((sql) => sql.unsafe(migration.sql));
    await session.run(
      (sql) => sql`INSERT INTO schema_migrations (number, applied_at) VALUES (${migration.number}, ${Date.now()})`,
    );
  }
  await session.run((sql) => sql.unsafe('COMMIT'));
}

/** Refuses a database without our schema or with a newer one, for commands that only read or clean. */
export async function checkSchema(session: Session): Promise<void> {
  await checkServer(session);
  const [table] = await session.run(
    (sql) => sql<[{ found: boolean }]>`SELECT to_regclass('schema_migrations') IS NOT NULL AS found`,
  );
  const found = table.found ? await numberOfSchema(session) : 0;
  if (found === 0) throw new Error('The database holds no Mneme data. Check the database URL.');
  const known = loadMigrations('postgres').length;
  if (found > known) throw new Error(newerSchemaMessage(found, known));
  if (found < known)
    throw new Error(
      `The database has schema ${found}, and this release needs ${known}. Start the server once to upgrade it.`,
    );
}
