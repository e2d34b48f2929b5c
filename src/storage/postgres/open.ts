import type { ScrubResult, Snapshot, Storage } from '../storage.ts';
import { openSession, parseUrl, type Session } from './connection.ts';
import { explainOpening, translate, troubleOf } from './failures.ts';
import { createKeys } from './keys.ts';
import { createMemories } from './memories.ts';
import { checkSchema, migrate } from './migrate.ts';
import { Pool } from './pool.ts';
import { scrub, vacuumWhenNew } from './scrub.ts';
import { createSnapshot } from './snapshot.ts';
import { createStores } from './stores.ts';
import { createVersions } from './versions.ts';

/** Runs `action` on a connection of its own; `explain` turns its errors into those for the caller. */
async function withSession<T>(
  url: string,
  action: (session: Session) => Promise<T>,
  explain: (error: unknown) => unknown,
): Promise<T> {
  const session = openSession(url);
  try {
    return await action(session);
  } catch (error) {
    throw explain(error);
  } finally {
    await session.end();
  }
}

async function readSnapshot<T>(session: Session, read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  await session.run((sql) => sql.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'));
  return read(createSnapshot(session));
}

/**
 * Opens the database, after bringing its schema to this release's. Several servers may open one database. Raises an
 * error that says what to do when it can't be reached, is of another program, or needs a newer release.
 */
export async function openPostgres(url: string, options: { maxConnections?: number } = {}): Promise<Storage> {
  const parsed = parseUrl(url);
  await withSession(url, migrate, (error) => explainOpening(error, parsed));
  const pool = new Pool(url, options.maxConnections ?? 10);
  const inSession = <T>(action: (session: Session) => Promise<T>) =>
    withSession(url, action, (error) => (troubleOf(error) === null ? error : translate(error, 'read')));
  const vacuum = vacuumWhenNew(pool, inSession);

  return {
    engine: 'postgres',
    stores: createStores(pool),
    memories: createMemories(pool),
    versions: createVersions(pool),
    keys: createKeys(pool),
    snapshot: (read) => inSession((session) => readSnapshot(session, read)),
    scrub: vacuum,
    ping: async () => {
      await pool.read((sql) => sql`SELECT 1`);
    },
    close: () => pool.close(),
  };
}

/** Reads a database, whether or not servers run on it. */
export function snapshotPostgres<T>(url: string, read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const parsed = parseUrl(url);
  return withSession(
    url,
    async (session) => {
      await checkSchema(session);
      return readSnapshot(session, read);
    },
    (error) => explainOpening(error, parsed),
  );
}

/**
 * Removes redacted and deleted text from the database's files, for an operator: rewrites the tables that held it, one
 * at a time, while servers wait. Answers how many requests that settled, and in sentences what remains elsewhere.
 */
export function scrubPostgres(url: string): Promise<ScrubResult> {
  const parsed = parseUrl(url);
  return withSession(
    url,
    async (session) => {
      await checkSchema(session);
      return scrub(session);
    },
    (error) => explainOpening(error, parsed),
  );
}
