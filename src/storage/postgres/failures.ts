import postgres from 'postgres';
import { Failure } from '../../contract/errors.ts';

/**
 * What an error means for the statement that raised it:
 * - `rolled_back`: a deadlock or a conflict of transactions; repeating it is safe and may succeed.
 * - `refused`: it did not run, or was undone, for lack of something at the server.
 * - `lost`: it was sent and its answer will not come; it may have been committed.
 */
export type Trouble = 'rolled_back' | 'disk_full' | 'read_only' | 'timed_out' | 'refused' | 'lost';

/** Codes of Node and of the client, by where the connection was when they came. */
const REFUSED = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
  'CONNECT_TIMEOUT',
  'CONNECTION_ENDED',
]);
const LOST = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'CONNECTION_CLOSED', 'CONNECTION_DESTROYED', 'NO_ANSWER']);

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

/** Decides by code alone: messages are translated and change between releases. Null for any other error. */
export function troubleOf(error: unknown): Trouble | null {
  const code = codeOf(error);
  if (REFUSED.has(code)) return 'refused';
  if (LOST.has(code)) return 'lost';
  switch (code) {
    case '40001':
    case '40P01':
      return 'rolled_back';
    case '53100':
      return 'disk_full';
    case '25006':
      return 'read_only';
    case '57014':
    case '55P03':
      return 'timed_out';
    // The server is starting or stopping, or refuses the login: nothing ran.
    case '57P03':
    case '08001':
    case '08004':
      return 'refused';
    // An administrator or a crash ended the connection.
    case '57P01':
    case '57P02':
    case '57P04':
    case '57P05':
      return 'lost';
  }
  if (/^08...$/.test(code)) return 'lost';
  // An internal error that ended the connection, as when a full disk stops the server from setting up a session.
  if (code === 'XX000' && (error as { severity?: unknown }).severity === 'FATAL') return 'lost';
  // 28: the password or role is refused; 3D: the database is gone; 53: out of memory, connections or other resources.
  if (/^(28|3D|53)...$/.test(code)) return 'refused';
  return null;
}

/** The failure that callers see, or the error itself without the values it carries. */
export function translate(error: unknown, kind: 'read' | 'write'): unknown {
  const trouble = troubleOf(error);
  const nothing = kind === 'write' ? ' Nothing of this request was stored.' : '';
  const options = { cause: withoutValues(error) };
  const unavailable = (message: string) => new Failure('unavailable', message, {}, options);
  switch (trouble) {
    case 'disk_full':
      return new Failure(
        'storage_full',
        `The disk of the database server is full.${nothing} Free space on it and send the request again.`,
        {},
        options,
      );
    case 'read_only':
      return unavailable(
        `The database takes no writes: it is a standby or set to read only.${nothing} Point the database URL at the primary server.`,
      );
    case 'timed_out':
      return unavailable(`The database took too long, most likely for a lock.${nothing} Send the request again.`);
    case 'rolled_back':
      return unavailable(`The database is too busy with writes to the same rows.${nothing} Send the request again.`);
    case 'refused':
      return unavailable(
        `The database can't be reached or takes no more connections.${nothing} Check that PostgreSQL runs, and send the request again.`,
      );
    case 'lost':
      return unavailable(
        kind === 'write'
          ? 'The connection to the database was lost before it answered, so it is not known whether this request was stored. Read it again, or repeat the request.'
          : 'The connection to the database was lost. Send the request again.',
      );
    case null:
      return options.cause;
  }
}

/**
 * An error of PostgreSQL names values in `detail`, and for class 22 in its message; the client hangs the statement's
 * parameters on it. A memory's text or path must not reach a log, so only what is free of values is kept.
 */
export function withoutValues(error: unknown): unknown {
  if (!(error instanceof postgres.PostgresError)) {
    if (error instanceof Error && 'parameters' in error)
      return Object.assign(new Error(error.message), { code: codeOf(error) });
    return error;
  }
  const { code, severity, routine, table_name, column_name, constraint_name, where } = error;
  const message = code.startsWith('22') ? 'PostgreSQL refused a value' : error.message;
  return Object.assign(new Error(`${message} (${code})`), {
    name: 'PostgresError',
    ...{ code, severity, routine, table_name, column_name, constraint_name, where },
  });
}

/** Why the database could not be opened, in one sentence that says what to do; never the password. */
export function explainOpening(error: unknown, url: URL): Error {
  const code = codeOf(error);
  const host = url.searchParams.get('host') ?? (url.host || 'the local server');
  const where = `PostgreSQL at ${host}`;
  const database = `"${decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username)}"`;
  const explain = (message: string) => new Error(message, { cause: withoutValues(error) });
  if (code.startsWith('28')) return explain(`${where} refused the user or password. Check the database URL.`);
  if (code === '3D000') return explain(`${where} has no database ${database}. Create it, or check the database URL.`);
  if (code === '42501')
    return explain(
      `The user of the database URL may not create tables in the database ${database}. Make it the owner: ALTER DATABASE .. OWNER TO ..`,
    );
  // Our table names are taken, or our table has other columns.
  if (code === '42P07' || code === '42723' || code === '42703')
    return explain(`The database ${database} holds tables of another program. Give Mneme a database of its own.`);
  if (code === '53100') return explain(`The disk of ${where} is full. Free space on it.`);
  if (code === '25006')
    return explain(`${where} takes no writes: it is a standby. Point the database URL at the primary.`);
  if (troubleOf(error) !== null)
    return explain(`${where} can't be reached (${code}). Check the database URL and that the server runs.`);
  return error instanceof Error ? (withoutValues(error) as Error) : explain(`${where} could not be opened.`);
}
