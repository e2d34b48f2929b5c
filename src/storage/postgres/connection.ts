import postgres from 'postgres';

export type Sql = postgres.Sql<{ bigint: number }>;

/** What the files of this folder share. Each call is one statement, so one round trip and one transaction. */
export type Database = {
  /** Runs a statement that only reads; repeated once when the connection is lost. */
  read<T>(run: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs a statement that may write; repeated only when the database says that it was rolled back. */
  write<T>(run: (sql: Sql) => Promise<T>): Promise<T>;
};

/** A statement of the server's pool that takes longer waits for something that will not come. */
export const STATEMENT_TIMEOUT_MS = 30_000;

const CONNECT_TIMEOUT_S = 10;
// How long `close` waits for statements in flight.
export const CLOSE_TIMEOUT_S = 5;

/**
 * Leaves only index scans and nested loops. A plan made while a table was small, or not yet analysed, would read all of
 * it, and the server keeps the plan while the table grows: a list at depth 1 read 10,000 rows to join four.
 */
const INDEXES_ONLY = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** The parts of a connection string, checked before the client sees it: its own error would repeat the password. */
export function parseUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw new Error(
      'The database URL is not one of PostgreSQL. Give it as postgres://user:password@host:5432/database.',
    );
  return parsed;
}

/**
 * A client over up to `max` connections; it connects when the first statement needs it. `indexed` is for the server's
 * pool, whose every statement has an index to use and a time limit.
 */
export function connect(url: string, options: { max: number; indexed: boolean; onclose?: () => void }): Sql {
  const parsed = parseUrl(url);
  // As in libpq, ?host=/run/postgresql names the folder of a Unix socket; the client would send it to the server.
  const socketFolder = parsed.searchParams.get('host');
  const port = parsed.searchParams.get('port');
  parsed.searchParams.delete('host');
  parsed.searchParams.delete('port');
  const settings = {
    ...(socketFolder === null ? {} : { host: socketFolder }),
    ...(port === null ? {} : { port: Number(port) }),
    max: options.max,
    // One statement at a time on a connection, not in the client's types: a statement that waits for a lock would hold
    // up those sent behind it while other connections are free.
    max_pipeline: 0,
    connect_timeout: CONNECT_TIMEOUT_S,
    // The default grows to 20 s, for which requests would wait to fail, and to go on when the database is back.
    backoff: () => 0.1,
    onnotice: () => {},
    onclose: options.onclose,
    // Keys and times stay below 2^53.
    types: { bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: Number } },
    // Each overrides what the database or the role may set: the functions rely on READ COMMITTED.
    connection: {
      application_name: 'mneme',
      default_transaction_isolation: 'read committed' as const,
      bytea_output: 'hex',
      // A zero must be text: the client leaves out what is falsy.
      statement_timeout: options.indexed ? STATEMENT_TIMEOUT_MS : ('0' as unknown as number),
      idle_in_transaction_session_timeout: options.indexed ? STATEMENT_TIMEOUT_MS : ('0' as unknown as number),
      ...(options.indexed ? INDEXES_ONLY : {}),
    },
  };
  return postgres(parsed.href, settings);
}

/** One connection of its own for what is long or needs a transaction of several statements. */
export type Session = {
  run<T>(action: (sql: Sql) => Promise<T>): Promise<T>;
  /** Rolls back what is not committed. */
  end(): Promise<void>;
};

/**
 * The client's `begin` is not used: when the connection is lost it writes its ROLLBACK to a closed socket, outside of
 * any promise, which ends the process (porsager/postgres#1208). And it would reconnect and go on without the
 * transaction, so a session that lost its connection refuses to.
 */
export function openSession(url: string): Session {
  let lost = false;
  const sql = connect(url, {
    max: 1,
    indexed: false,
    onclose: () => {
      lost = true;
    },
  });
  return {
    run: async (action) => {
      if (lost) throw Object.assign(new Error('The connection to PostgreSQL was lost.'), { code: 'CONNECTION_CLOSED' });
      return action(sql);
    },
    end: () => sql.end({ timeout: CLOSE_TIMEOUT_S }),
  };
}
