import { type ErrorName, Failure } from '../contract/errors.ts';

/** The one table from error names to HTTP: status and the wire's `error.type`. */
export const HTTP_ERRORS: Record<ErrorName, { status: number; type: string }> = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  unauthenticated: { status: 401, type: 'authentication_error' },
  forbidden: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  timeout: { status: 408, type: 'timeout_error' },
  path_conflict: { status: 409, type: 'memory_path_conflict_error' },
  precondition_failed: { status: 409, type: 'memory_precondition_failed_error' },
  conflict: { status: 409, type: 'conflict_error' },
  too_large: { status: 413, type: 'request_too_large' },
  internal: { status: 500, type: 'api_error' },
  unavailable: { status: 503, type: 'overloaded_error' },
  storage_full: { status: 507, type: 'api_error' },
};

export type ErrorBody = {
  type: 'error';
  error: { type: string; message: string; conflicting_memory_id?: string; conflicting_path?: string };
  request_id: string;
};

export function toErrorBody(failure: Failure, requestId: string): ErrorBody {
  return {
    type: 'error',
    error: { type: HTTP_ERRORS[failure.name].type, message: failure.message, ...failure.details },
    request_id: requestId,
  };
}

/** Errors that the HTTP framework raises by itself, by code, in our words. */
const FRAMEWORK: Record<string, () => Failure> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new Failure('too_large', 'The request body is larger than 1 MiB. Send less text in one request.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new Failure('invalid_request', 'The request body must be JSON. Send the header "content-type: application/json".'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Failure('invalid_request', 'The request body has another length than its content-length header says.'),
  FST_ERR_BAD_URL: () => new Failure('invalid_request', 'The URL is malformed. Check its percent-encoding.'),
};

/** The failure that a caller sees for an error; null for one that is a fault of the server. */
export function toFailure(error: unknown): Failure | null {
  if (error instanceof Failure) return error;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const known = code === undefined ? undefined : FRAMEWORK[code];
  if (known) return known();
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new Failure('invalid_request', 'The request is malformed. Check its method, headers and body.');
  return null;
}
