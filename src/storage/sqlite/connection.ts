import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** What the files of this folder share: prepared statements and the one writer. */
export type Connection = {
  readonly raw: DatabaseSync;
  /** A prepared statement; each text is prepared once. */
  readonly sql: (text: string) => StatementSync;
  /** Runs a job in the next group commit; see `Writer`. */
  readonly write: <T>(job: () => T) => Promise<T>;
};
