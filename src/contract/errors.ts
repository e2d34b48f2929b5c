/**
 * The closed list of error names. Each way out of the server (HTTP, errno, exit code) has one total table over it.
 */
export const ERROR_NAMES = [
  /** The request is malformed, breaks a limit, or is not possible in the object's state. */
  'invalid_request',
  /** No key, an unknown key, a revoked or an expired one. */
  'unauthenticated',
  /** The key's role does not allow the operation in its own workspace. */
  'forbidden',
  /** Nothing by that name in the caller's workspace. */
  'not_found',
  /** The path exists, but not with this HTTP method. */
  'method_not_allowed',
  /** The path of a memory is taken, or is an ancestor or descendant of one. */
  'path_conflict',
  /** The memory's content is not what the precondition says. */
  'precondition_failed',
  /** The request conflicts with the state of an object in another way. */
  'conflict',
  /** The request body is larger than the endpoint reads. */
  'too_large',
  /** The client took too long to send its request. */
  'timeout',
  /** The disk below the database is full; nothing was written. */
  'storage_full',
  /** The database can't be reached or is too busy, or the server is stopping. The message says if a write may have happened. */
  'unavailable',
  /** A fault of the server. */
  'internal',
] as const;

export type ErrorName = (typeof ERROR_NAMES)[number];

export type ErrorDetails = { conflicting_memory_id?: string; conflicting_path?: string };

/** The only error that operations raise on purpose. `message` is for the caller and says what to do next. */
export class Failure extends Error {
  override readonly name: ErrorName;
  readonly details: ErrorDetails;
  constructor(name: ErrorName, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
    this.details = details;
  }
}

export function invalid(message: string): Failure {
  return new Failure('invalid_request', message);
}

/** `where` says in what it was looked for. */
export function notFound(what: string, id: string, where = 'this workspace'): Failure {
  // An id that a client made up may hold anything: only a well-formed one is repeated.
  const shown = /^[A-Za-z0-9_-]{1,64}$/.test(id) ? ` ${id}` : '';
  return new Failure('not_found', `${what}${shown} was not found in ${where}. Check the id and the API key.`);
}
