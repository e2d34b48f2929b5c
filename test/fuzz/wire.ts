import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { HTTP_ERRORS } from '../../src/http/failures.ts';
import type { Database, Engine } from '../support/engines.ts';
import { ADMIN_KEY, BETA, startInProcess, type TestServer } from '../support/server.ts';

/** A word that hostile requests carry everywhere: it must never reach a log. */
export const CANARY = 'canary-51c0de';

/** Bytes of a request as they go on the wire: text stands for its UTF-8 bytes. */
export type Bytes = string | Uint8Array;
// biome-ignore lint/suspicious/noExplicitAny: tests read the JSON of many endpoints
export type RawAnswer = { status: number; headers: Map<string, string>; body: any };

/**
 * Sends bytes that no HTTP client would send and reads until the server closes. Null when it closed without an answer.
 * `half` ends our side at once, which says that nothing more comes.
 */
export async function exchange(url: string, bytes: Bytes, half = false): Promise<RawAnswer | null> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) => {
    socket.on('data', (data) => void chunks.push(data));
    // A reset is what a server may do to someone who goes on sending; what came before it counts.
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    if (half) socket.end(bytes);
    else socket.write(bytes);
  });
  const received = Buffer.concat(chunks).toString('utf8');
  if (received === '') return null;
  const [head = '', ...rest] = received.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((line): [string, string] => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const body = rest.join('\r\n\r\n');
  // One chunk is all that a short answer has.
  const text = headers.get('transfer-encoding') === 'chunked' ? (body.split('\r\n')[1] ?? '') : body;
  const json = headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: Number(statusLine.split(' ')[1]), headers, body: json ? JSON.parse(text) : text };
}

export type RawRequest = {
  method?: string;
  target: Bytes;
  /** Lines without their end; they replace the lines of the same name that every request has. */
  headers?: Bytes[];
  body?: Bytes;
};

const DEFAULT_HEADERS = {
  host: 'localhost',
  'x-api-key': ADMIN_KEY,
  'anthropic-beta': BETA,
  connection: 'close',
};

function nameOf(line: Bytes): string {
  return (
    Buffer.from(line as string)
      .toString('latin1')
      .split(':')[0]
      ?.trim()
      .toLowerCase() ?? ''
  );
}

/** The bytes of a request that is well-formed except for what its parts bring. */
export function requestBytes({ method = 'GET', target, headers = [], body }: RawRequest): Buffer {
  const given = new Set(headers.map(nameOf));
  const lines: Bytes[] = [...headers];
  const own: Record<string, string> = { ...DEFAULT_HEADERS };
  if (body !== undefined) {
    own['content-type'] = 'application/json';
    if (!given.has('transfer-encoding')) own['content-length'] = String(Buffer.byteLength(body));
  }
  for (const [name, value] of Object.entries(own)) if (!given.has(name)) lines.push(`${name}: ${value}`);
  return Buffer.concat(
    [method, ' ', target, ' HTTP/1.1\r\n', ...lines.flatMap((line) => [line, '\r\n']), '\r\n', body ?? ''].map((part) =>
      Buffer.from(part as string),
    ),
  );
}

const TYPES = new Set(Object.values(HTTP_ERRORS).map(({ type }) => type));

/** An error in the wire form, with the request's id in header and body, that blames the client. */
export function assertRefused(answer: RawAnswer | null, label: string): asserts answer is RawAnswer {
  assert.ok(answer, `${label}: the connection was closed without an answer`);
  const shown = `${label}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`;
  assert.ok(answer.status >= 400 && answer.status < 500, shown);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, shown);
  assert.match(answer.headers.get('request-id') ?? '', /^req_01[1-9A-HJ-NP-Za-km-z]{22}$/, shown);
  assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'request_id', 'type'], shown);
  assert.equal(answer.body.type, 'error', shown);
  assert.equal(answer.body.request_id, answer.headers.get('request-id'), shown);
  assert.ok(TYPES.has(answer.body.error.type), shown);
  assert.ok(answer.body.error.message.length > 0, shown);
}

export type Target = {
  database: Database;
  server: TestServer;
  storeId: string;
  memoryId: string;
  /** The older of the memory's two versions. */
  versionId: string;
  /** The path of the store. */
  store: string;
  /** Everything that the workspace holds. */
  state(): Promise<unknown>;
  send(request: RawRequest): Promise<RawAnswer | null>;
  stop(): Promise<void>;
};

/** A server with a store, a memory and two versions. */
export async function startTarget(engine: Engine): Promise<Target> {
  const database = await engine.create();
  const server = await startInProcess(database);
  const { call } = server;
  const storeId = (await call('POST', '/v1/memory_stores', { body: { name: 'target', metadata: { a: 'b' } } })).body.id;
  const store = `/v1/memory_stores/${storeId}`;
  const memory = (await call('POST', `${store}/memories`, { body: { path: '/a.md', content: 'one' } })).body;
  await call('POST', `${store}/memories/${memory.id}`, { body: { content: 'two' } });
  const parts = ['/v1/memory_stores?include_archived=true', `${store}/memories?view=full`, '/mneme/v1/keys'];
  parts.push(`${store}/memory_versions?view=full`, '/mneme/v1/workspaces');
  return {
    database,
    server,
    storeId,
    memoryId: memory.id,
    versionId: memory.memory_version_id,
    store,
    async state() {
      const answers = [];
      for (const part of parts) answers.push(await call('GET', part));
      for (const answer of answers) assert.equal(answer.status, 200);
      return answers.map((answer) => answer.body);
    },
    send: (request) => exchange(server.url, requestBytes(request)),
    async stop() {
      await server.stop();
      await database.drop();
    },
  };
}

/** No line of the log has the canary or the key, and none tells of a fault of the server. */
export function assertLogClean({ log }: TestServer): void {
  assert.ok(log.length > 0);
  for (const line of log) {
    assert.ok(!line.toLowerCase().includes(CANARY), line);
    assert.ok(!line.includes(ADMIN_KEY), line);
    assert.equal(JSON.parse(line).level, 'info', line);
  }
}
