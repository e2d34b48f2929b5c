import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { openPostgres } from '../../src/storage/postgres/open.ts';
import { need } from './tools.ts';

const template = 'mneme_template';
// Any number, as long as every test process uses the same.
const lock = 720_819;

let templateReady: Promise<void> | undefined;

/** Runs statements on the server's `postgres` database, on a connection that is closed afterwards. */
async function onServer<T>(url: string, action: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await action(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Makes the migrated template once in the run's cluster. Test processes take turns at the lock; the mark `is_template`
 * tells a finished one from one whose maker was killed.
 */
async function makeTemplate(server: string): Promise<void> {
  await onServer(server, async (sql) => {
    await sql`SELECT pg_advisory_lock(${lock})`;
    const finished = await sql`SELECT 1 FROM pg_database WHERE datname = ${template} AND datistemplate`;
    if (finished.length > 0) return;
    await sql.unsafe(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await sql.unsafe(`CREATE DATABASE ${template} TEMPLATE template0`);
    const storage = await openPostgres(urlOf(server, template));
    await storage.close();
    // A template with a connection can't be copied, so nobody gets one any more.
    await sql.unsafe(`ALTER DATABASE ${template} IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  });
}

/**
 * A fresh, migrated database on the run's PostgreSQL server. `drop` ends the connections that are left; a database that
 * is not dropped goes with the server at the end of the run. Skip the test when `need('postgres').skip` says so.
 */
export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const { value: server, skip } = need('postgres');
  if (!server) throw new Error(skip);
  templateReady ??= makeTemplate(server);
  await templateReady;
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(server, (sql) => sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  return {
    url: urlOf(server, name),
    drop: async () => {
      await onServer(server, (sql) => sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}
