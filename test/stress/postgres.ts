import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { openPostgres } from '../../src/storage/postgres/open.ts';
import type { Database } from '../support/engines.ts';
import { need } from '../support/tools.ts';

/** Runs statements on one connection, which is closed afterwards. */
export async function onDatabase<T>(url: string, action: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await action(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Waits until nobody else is connected to a database: what a killed server had sent is done or undone then. */
export function otherConnectionsEnd(url: string): Promise<void> {
  return onDatabase(url, async (sql) => {
    for (;;) {
      const others = await sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
      if (others.length === 0) return;
      await sleep(10);
    }
  });
}

/** A database without any schema, of the run's cluster or another one, made with more words after CREATE DATABASE. */
export async function createEmptyDatabase(
  server: string = need('postgres').value as string,
  words = '',
): Promise<Database> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onDatabase(server, (sql) => sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0 ${words}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    dataDir: '',
    databaseUrl: url.href,
    flags: ['--database-url', url.href],
    open: () => openPostgres(url.href),
    drop: async () => {
      await onDatabase(server, (sql) => sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

/** Every table, column, constraint, index and function of a schema, and whether indexes are valid; without data. */
export function describeSchema(url: string): Promise<string[]> {
  return onDatabase(url, async (sql) => {
    const rows = await sql<{ line: string }[]>`
      SELECT concat_ws(' ', 'column', table_name, column_name, data_type, collation_name, is_nullable, column_default,
        identity_generation) AS line
      FROM information_schema.columns WHERE table_schema = 'public'
      UNION ALL
      SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace
      UNION ALL
      SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid)
      FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT concat_ws(' ', 'function', pg_get_functiondef(oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT concat_ws(' ', 'migration', number) FROM schema_migrations
      ORDER BY line`;
    return rows.map((row) => row.line);
  });
}

export type Hold = {
  /** Whether `count` others wait for a lock inside a call of this function. */
  waiting(name: string, count?: number): Promise<boolean>;
  /** Asks again and again; gives up after a time that is never reached unless something is wrong. */
  until(condition: () => Promise<boolean>): Promise<void>;
  /** Lets go; a second time is a no-op. */
  release(): Promise<void>;
};

/** Runs a statement that takes a lock, in a transaction that stays open. */
export async function hold({ databaseUrl }: { databaseUrl: string | null }, statement: string): Promise<Hold> {
  const url = databaseUrl as string;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe('BEGIN');
  await sql.unsafe(statement);
  let held = true;
  return {
    waiting: async (name, count = 1) => {
      // Within a transaction the view would stay as it was first read.
      await sql`SELECT pg_stat_clear_snapshot()`;
      const waiting = await sql`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND strpos(query, ${`${name}(`}) > 0`;
      return waiting.length >= count;
    },
    async until(condition) {
      for (let waited = 0; !(await condition()); waited += 10) {
        if (waited > 20_000) throw new Error('what the test waits for does not happen');
        await sleep(10);
      }
    },
    async release() {
      if (!held) return;
      held = false;
      await sql.unsafe('COMMIT');
      await sql.end({ timeout: 5 });
    },
  };
}
