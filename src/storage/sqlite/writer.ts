import type { DatabaseSync } from 'node:sqlite';
import { Failure } from '../../contract/errors.ts';
import { translate } from './database.ts';

type Job = { run: () => unknown; resolve: (value: unknown) => void; reject: (error: unknown) => void };

// Bounds the time that one transaction holds the event loop; 32 already give most of the gain (14.7k writes a second
// against 3.4k alone).
const MAX_BATCH = 128;

/**
 * The one writer: all writes that arrive in a turn of the event loop share one transaction and one sync of the log.
 * A write is answered only after its commit. A job may read and write but must not await; it answers an outcome for
 * everything expected, so that an exception means the whole batch is rolled back and its jobs are run again one by one.
 */
export class Writer {
  readonly #db: DatabaseSync;
  #queue: Job[] = [];
  #scheduled = false;
  #reading = false;
  #closed = false;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  write<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new Failure('unavailable', 'The server is stopping. Nothing was stored; send the request again.'));
        return;
      }
      this.#queue.push({ run, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /**
   * Opens a read transaction for the rest of this turn of the event loop, unless one is open. Taking and giving back
   * the lock of a snapshot costs as much as a point read; this way requests that arrive together share it. A write
   * ends it first, so that what was answered is always seen by the next read.
   */
  beginReads(): void {
    if (this.#reading || this.#db.isTransaction) return;
    this.#db.exec('BEGIN');
    this.#reading = true;
    setImmediate(() => this.endReads());
  }

  endReads(): void {
    if (!this.#reading) return;
    this.#reading = false;
    // A failing disk makes SQLite end the transaction by itself.
    if (this.#db.isTransaction) this.#db.exec('COMMIT');
  }

  /** Commits what is queued and refuses more. */
  close(): void {
    this.endReads();
    this.#closed = true;
    while (this.#queue.length > 0) this.#flush();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const jobs = this.#queue.splice(0, MAX_BATCH);
    if (jobs.length === 0) return;
    try {
      const values = this.#transaction(jobs);
      for (let i = 0; i < jobs.length; i++) jobs[i]?.resolve(values[i]);
    } catch (error) {
      if (jobs.length === 1) jobs[0]?.reject(translate(error));
      else for (const job of jobs) this.#alone(job);
    }
  }

  #alone(job: Job): void {
    try {
      job.resolve(this.#transaction([job])[0]);
    } catch (error) {
      job.reject(translate(error));
    }
  }

  #transaction(jobs: Job[]): unknown[] {
    this.endReads();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const values: unknown[] = [];
      for (const job of jobs) values.push(job.run());
      this.#db.exec('COMMIT');
      return values;
    } catch (error) {
      // A full disk makes SQLite roll back by itself.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}
