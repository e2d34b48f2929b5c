import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSE_TIMEOUT_S, connect, type Database, type Sql, STATEMENT_TIMEOUT_MS } from './connection.ts';
import { translate, troubleOf } from './failures.ts';

// Attempts at a statement that the database rolled back; by lock order deadlocks should not occur at all.
const ATTEMPTS = 4;
// The server itself ends a statement earlier; what takes longer was lost on the way, which TCP may not notice for
// many minutes.
const NO_ANSWER_MS = STATEMENT_TIMEOUT_MS + 10_000;

async function answerOf<T>(pending: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(Object.assign(new Error('PostgreSQL did not answer.'), { code: 'NO_ANSWER' })),
    NO_ANSWER_MS,
  );
  try {
    return await Promise.race([pending, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The connections of a server. */
export class Pool implements Database {
  readonly #connect: () => Sql;
  #sql: Sql;
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(url: string, maxConnections: number) {
    this.#connect = () => connect(url, { max: maxConnections, indexed: true });
    this.#sql = this.#connect();
  }

  read<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#run('read', run);
  }

  write<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#run('write', run);
  }

  /** Waits up to five seconds for statements in flight and refuses more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#end(this.#sql);
    await Promise.all(this.#ending);
  }

  async #run<T>(kind: 'read' | 'write', run: (sql: Sql) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const sql = this.#sql;
      try {
        return await answerOf(run(sql));
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === 'lost') this.#replace(sql);
        const again =
          (trouble === 'rolled_back' && attempt < ATTEMPTS) || (trouble === 'lost' && kind === 'read' && attempt === 1);
        if (!again || this.#closed) throw translate(error, kind);
        await sleep(Math.random() * 20 * attempt);
      }
    }
  }

  /**
   * Gives up a client that lost a connection. One that was writing at that moment keeps the half-written bytes and the
   * mark that a write is due, so that it can't connect again for a minute or more (postgres 3.4.9).
   */
  #replace(sql: Sql): void {
    if (sql !== this.#sql || this.#closed) return;
    this.#sql = this.#connect();
    this.#end(sql);
  }

  #end(sql: Sql): void {
    const ending = sql
      .end({ timeout: CLOSE_TIMEOUT_S })
      .catch(() => {})
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
