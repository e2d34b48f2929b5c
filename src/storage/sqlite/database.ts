import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Failure } from '../../contract/errors.ts';

// "Mnem" in ASCII: marks the file as ours (PRAGMA application_id).
export const APPLICATION_ID = 0x4d6e656d;

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

/** The primary code of an error of SQLite, or null for another error. */
function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** True when another connection holds the lock that was asked for. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_BUSY;
}

/** Turns an error of SQLite into the failure that callers see; other errors pass through. */
export function translate(error: unknown): unknown {
  switch (sqliteCode(error)) {
    // A full disk shows as FULL for the database and as IOERR or CANTOPEN for the log and its index.
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return new Failure(
        'storage_full',
        'The database could not be written, most likely because its disk is full. Nothing of this request was stored. Free space on the disk and send the request again.',
        {},
        { cause: error },
      );
    case SQLITE_BUSY:
      return new Failure(
        'unavailable',
        'The database is locked by another process. Nothing of this request was stored; send it again.',
        {},
        { cause: error },
      );
    default:
      return error;
  }
}

/** Opens a connection with the settings that the guarantees rest on. */
export function openConnection(file: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: options.readOnly ?? false, timeout: 5000 });
  if (!options.readOnly) {
    db.exec('PRAGMA journal_mode = WAL');
    // FULL syncs the log at each commit; NORMAL would lose acknowledged writes when the power fails.
    db.exec('PRAGMA synchronous = FULL');
    // Deleted bytes are overwritten with zeros, so that redaction leaves nothing in free pages.
    db.exec('PRAGMA secure_delete = ON');
  }
  // Sorts and statement journals stay in memory: no copy of a text reaches a temporary file.
  db.exec('PRAGMA temp_store = MEMORY');
  db.exec('PRAGMA cache_size = -65536');
  return db;
}

/**
 * Prepares statements once each, keyed by their text. With `tuples` rows come as arrays in the order of the columns,
 * which the hot paths use: building an object with a name for each column costs as much as finding the row.
 */
export function statements(db: DatabaseSync, options: { tuples: boolean }): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = db.prepare(sql);
      statement.setReturnArrays(options.tuples);
      prepared.set(sql, statement);
    }
    return statement;
  };
}
