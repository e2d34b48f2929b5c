import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** What the files of this folder share: prepared statements and the one writer. */
export type Connection = {
  readonly raw: DatabaseSync;
  /** A prepared statement whose rows are objects; each text is prepared once. */
  readonly sql: (text: string) => StatementSync;
  /** The same with rows as arrays, for hot paths. */
  readonly tuples: (text: string) => StatementSync;
  /** Call before reading outside a write: the reads of one turn of the event loop share a snapshot; see `Writer`. */
  readonly beginReads: () => void;
  /** Runs a job in the next group commit; see `Writer`. */
  readonly write: <T>(job: () => T) => Promise<T>;
};
