import { setTimeout as sleep } from 'node:timers/promises';
import type { ScrubResult } from '../storage.ts';
import type { Database, Session } from './connection.ts';
import { codeOf } from './failures.ts';

/** Every table that holds text, paths, or names that a client gave. */
const TABLES = ['memory_contents', 'memory_versions', 'memories', 'memory_stores'];

// How long a scrub waits for transactions that may still read removed rows; those of a server take well under a second.
const WAIT_MS = 10_000;
const LOCK_WAIT_MS = 5000;

/**
 * What the server itself does: VACUUM, so that no query can reach a removed row. The bytes stay in the files until
 * the operator's scrub, so requests stay pending. Does nothing when no request came since its last run.
 */
export function vacuumWhenNew(
  db: Database,
  inSession: <T>(action: (session: Session) => Promise<T>) => Promise<T>,
): () => Promise<{ remaining: number }> {
  let done = 0;
  return async () => {
    const [pending] = await db.read(
      (sql) => sql<[{ count: number; last: number }]>`
        SELECT count(*) AS count, coalesce(max(seq), 0) AS last FROM pending_scrubs`,
    );
    if (pending.last > done) {
      await inSession((session) => session.run((sql) => sql.unsafe(`VACUUM ${TABLES.join(', ')}`)));
      done = pending.last;
    }
    return { remaining: pending.count };
  };
}

/** How many requests wait for a transaction, prepared transaction, slot or standby that may still read their rows. */
async function countHeld(session: Session): Promise<number> {
  const [row] = await session.run(
    (sql) => sql<[{ held: number }]>`
      SELECT count(*) AS held FROM pending_scrubs WHERE age(xmin) <= (
        SELECT coalesce(max(age(xid)), -1) FROM (
          SELECT backend_xmin AS xid FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
          UNION ALL SELECT transaction FROM pg_prepared_xacts
          UNION ALL SELECT xmin FROM pg_replication_slots
        ) AS holders WHERE xid IS NOT NULL)`,
  );
  return row.held;
}

/**
 * Deletes the requests whose rows the rewrite left out. It copies removed rows that the oldest transaction may still
 * read, and with FREEZE it records in `relfrozenxid` up to which transaction it did not have to. A request was written
 * by the transaction that removed the rows.
 */
async function settle(session: Session): Promise<{ settled: number; held: number }> {
  const [row] = await session.run(
    (sql) => sql<[{ settled: number; held: number }]>`
      WITH settled AS (
        DELETE FROM pending_scrubs WHERE age(xmin) > (
          SELECT max(age(relfrozenxid)) FROM pg_class WHERE oid = ANY (${TABLES}::regclass[]))
        RETURNING seq
      )
      SELECT (SELECT count(*) FROM settled) AS settled,
        (SELECT count(*) FROM pending_scrubs) - (SELECT count(*) FROM settled) AS held`,
  );
  return row;
}

/** Rewrites the tables, one at a time; answers false when one of them is in use for longer than a moment. */
async function rewrite(session: Session): Promise<boolean> {
  // Whoever comes after a waiting rewrite waits for it too, the servers included.
  await session.run((sql) => sql`SELECT set_config('lock_timeout', ${String(LOCK_WAIT_MS)}, false)`);
  for (const table of TABLES) {
    try {
      await session.run((sql) => sql.unsafe(`VACUUM (FULL, FREEZE) ${table}`));
    } catch (error) {
      if (codeOf(error) === '55P03') return false;
      throw error;
    }
  }
  return true;
}

/** Runs a statement that may need a privilege; answers whether it was allowed. */
async function allowed(session: Session, statement: string): Promise<boolean> {
  try {
    await session.run((sql) => sql.unsafe(statement));
    return true;
  } catch (error) {
    if (codeOf(error) === '42501') return false;
    throw error;
  }
}

export async function scrub(session: Session): Promise<ScrubResult> {
  const [owner] = await session.run(
    (sql) => sql<[{ all: boolean }]>`
      SELECT bool_and(pg_has_role(relowner, 'USAGE')) AS all FROM pg_class
      WHERE oid = ANY (${TABLES}::regclass[])`,
  );
  // VACUUM would skip the tables with no more than a warning.
  if (!owner.all)
    throw new Error(
      'Only the owner of the tables can rewrite them. Give the database URL of the user that the servers use.',
    );

  const [pending] = await session.run((sql) => sql<[{ n: number }]>`SELECT count(*) AS n FROM pending_scrubs`);
  if (pending.n === 0) return { removed: 0, remaining: [], elsewhere: [] };
  for (let waited = 0; waited < WAIT_MS && (await countHeld(session)) > 0; waited += 250) await sleep(250);
  if (!(await rewrite(session)))
    return {
      removed: 0,
      remaining: [
        `The tables could not be rewritten, because a transaction that reads or writes them is open (pg_stat_activity). Let it end, and run this command again.`,
      ],
      elsewhere: [],
    };
  const { settled, held } = await settle(session);

  const remaining: string[] = [];
  if (held > 0)
    remaining.push(
      `${held} removals could not be completed, because a transaction, prepared transaction, replication slot or standby from before them is still open. End it (pg_stat_activity, pg_prepared_xacts, pg_replication_slots) and run this command again.`,
    );
  remaining.push(...(await scrubLog(session)));
  return { removed: settled, remaining, elsewhere: await nameCopies(session) };
}

/** Lets go of the write-ahead log that holds the removed text, as far as the user may; says what stays. */
async function scrubLog(session: Session): Promise<string[]> {
  const [log] = await session.run(
    (sql) => sql<[{ recycle: boolean; keep: string }]>`
      SELECT current_setting('wal_recycle')::boolean AS recycle, current_setting('wal_keep_size') AS keep`,
  );
  // After the switch the checkpoint begins in a new file, so that the older ones are not needed for a recovery.
  const done = (await allowed(session, 'SELECT pg_switch_wal()')) && (await allowed(session, 'CHECKPOINT'));
  const sentences: string[] = [];
  if (!done)
    sentences.push(
      'Files of the write-ahead log hold the removed text until a checkpoint lets go of them, and this user may not ask for one. Run SELECT pg_switch_wal(); CHECKPOINT; as a superuser.',
    );
  if (log.recycle)
    sentences.push(
      'PostgreSQL keeps old files of the write-ahead log to write over them, and until it does they hold the removed text. With wal_recycle = off it deletes them instead.',
    );
  if (log.keep !== '0')
    sentences.push(
      `Files of the write-ahead log are kept for standbys (wal_keep_size = ${log.keep}) and hold the removed text.`,
    );
  return sentences;
}

/** Says where copies may be that this database can't reach. */
async function nameCopies(session: Session): Promise<string[]> {
  const [copies] = await session.run(
    (sql) => sql<[{ archive: string; standbys: number; slots: number }]>`
      SELECT current_setting('archive_mode') AS archive, (SELECT count(*) FROM pg_stat_replication) AS standbys,
        (SELECT count(*) FROM pg_replication_slots) AS slots`,
  );
  const sentences: string[] = [];
  if (copies.archive !== 'off')
    sentences.push(
      'The archive of the write-ahead log holds the removed text. Delete its files from before now after a new base backup.',
    );
  if (copies.slots > 0)
    sentences.push(
      `${copies.slots} replication slots may keep files of the write-ahead log until their reader has caught up.`,
    );
  if (copies.standbys > 0)
    sentences.push(
      `${copies.standbys} standbys have the same tables rewritten; their own write-ahead log may hold the removed text until their next restart points.`,
    );
  sentences.push(
    'Backups and dumps from before now hold the removed text. Delete them when the rule that you follow says so.',
  );
  return sentences;
}
