/** Where a server is and how to show who asks. */
export type Connection = { baseUrl: string; apiKey: string };

/** An answer of the server that is an error, or no answer (status 0). The message says what to do next. */
export class CallError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Exit codes of the command: 0 is success, 1 that something was checked and is wrong, 2 wrong words on the line. */
export function exitCodeFor(status: number): number {
  if (status === 401 || status === 403) return 3;
  if (status === 404) return 4;
  if (status === 409) return 5;
  if (status === 0 || status >= 500) return 6;
  return 2;
}

/** Reads where to connect: flags first, then MNEME_ names, then ANTHROPIC_ names. */
export function readConnection(
  flags: { baseUrl?: string; apiKey?: string },
  env: Record<string, string | undefined>,
): Connection {
  const baseUrl = flags.baseUrl || env.MNEME_BASE_URL || env.ANTHROPIC_BASE_URL || 'http://127.0.0.1:8400';
  const apiKey = flags.apiKey || env.MNEME_API_KEY || env.ANTHROPIC_API_KEY;
  if (!apiKey)
    throw new CallError(401, 'There is no API key. Give --api-key, or set MNEME_API_KEY or ANTHROPIC_API_KEY.');
  return { baseUrl: baseUrl.replace(/\/+$/, ''), apiKey };
}

/** Calls an endpoint and answers its JSON. Raises `CallError`. */
export async function call(
  connection: Connection,
  method: 'GET' | 'POST',
  path: string,
  input: { query?: Record<string, string | undefined>; body?: object } = {},
): Promise<unknown> {
  const url = new URL(connection.baseUrl + path);
  for (const [name, value] of Object.entries(input.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, value);
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: { 'x-api-key': connection.apiKey, ...(input.body ? { 'content-type': 'application/json' } : {}) },
      body: input.body ? JSON.stringify(input.body) : undefined,
      signal: AbortSignal.timeout(60_000),
    });
  } catch (error) {
    throw new CallError(
      0,
      `No server answers at ${connection.baseUrl} (${(error as { cause?: { code?: string } }).cause?.code ?? 'no reply'}). Start one with "npm start", or give --base-url.`,
    );
  }
  const text = await response.text();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CallError(502, `What answers at ${connection.baseUrl} is not a Mneme server. Check --base-url.`);
  }
  if (response.ok) return parsed;
  const message = (parsed as { error?: { message?: unknown } }).error?.message;
  throw new CallError(
    response.status,
    typeof message === 'string' ? message : `The server answered ${response.status}.`,
  );
}
