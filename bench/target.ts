import { type Child, startChild } from './cleanup.ts';
import { DOCUMENT_BYTES, documentText, FOLDERS, PATH_MARK } from './documents.ts';
import type { Filled, FillRequest, Load, Operation, Place, Plan } from './messages.ts';
import { API_KEY, cpuSeconds, type RunningServer, startServer } from './server.ts';

export const CONNECTIONS = 32;
const HEADERS = {
  host: '127.0.0.1',
  connection: 'keep-alive',
  accept: 'application/json',
  'x-api-key': API_KEY,
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'agent-memory-2026-07-22',
};

/** A load and what it cost the server. */
export type Measurement = Load & {
  /** CPU time of the server for each request in microseconds; unlike the rate it bears a busy machine. */
  serverCpuUs: number | null;
};

/** A server with its data and the requests that can be sent to it. */
export type Target = {
  server: RunningServer;
  requests: Record<Operation, string[]>;
  /** The number of the next path that is not taken. */
  nextNumber: number;
};

function request(method: string, path: string, body?: string): string {
  const headers: Record<string, string | number> = { ...HEADERS };
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = Buffer.byteLength(body);
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

const memoriesOf = (storeId: string) => `/v1/memory_stores/${storeId}/memories`;
const listOf = (storeId: string, folder: number) =>
  `${memoriesOf(storeId)}?path_prefix=${encodeURIComponent(`/notes/${folder}/`)}&limit=20`;

function requestsFor({ stores, sample }: Filled): Record<Operation, string[]> {
  const body = JSON.stringify({ path: PATH_MARK, content: documentText(7) });
  const lists = Array.from({ length: stores.length * FOLDERS }, (_, i) =>
    request('GET', listOf(stores[i % stores.length] as string, Math.floor(i / stores.length))),
  );
  return {
    retrieve: shuffle(sample).map(({ storeId, memoryId }) => request('GET', `${memoriesOf(storeId)}/${memoryId}`)),
    create: stores.map((storeId) => request('POST', memoriesOf(storeId), body)),
    list: shuffle(lists),
  };
}

function shuffle<T>(items: T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** A status of 200 says little: looks at one answer of each kind before it is measured. */
async function checkAnswers(server: RunningServer, { stores, sample }: Filled): Promise<void> {
  const get = async (path: string): Promise<{ content?: string; data?: unknown[]; next_page?: string | null }> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      headers: Object.fromEntries(Object.entries(HEADERS).filter(([name]) => !['host', 'connection'].includes(name))),
    });
    if (response.status !== 200) throw new Error(`GET ${path} was answered with ${response.status}.`);
    return (await response.json()) as Awaited<ReturnType<typeof get>>;
  };
  const one = sample[0] as Filled['sample'][number];
  const memory = await get(`${memoriesOf(one.storeId)}/${one.memoryId}`);
  if (Buffer.byteLength(memory.content ?? '') !== DOCUMENT_BYTES) throw new Error('A memory came without its text.');
  const page = await get(listOf(stores[0] as string, FOLDERS - 1));
  if (page.data?.length !== 20 || !page.next_page) throw new Error('A list has fewer than 20 entries and a next page.');
  const refused = await fetch(`http://127.0.0.1:${server.port}${memoriesOf(one.storeId)}`);
  if (refused.status !== 401) throw new Error(`Without a key the answer was ${refused.status} instead of 401.`);
}

/** Fills a place by a process of its own, then starts a server on it. */
export async function startTarget(
  place: Place,
  size: { memories: number; stores: number },
  execArgv: string[] = [],
): Promise<Target & { fillSeconds: number }> {
  const filler = startChild('./inprocess.ts');
  const fill: FillRequest = { do: 'fill', place, ...size, sample: 10_000 };
  const filled = await filler.ask<Filled>(fill);
  await filler.ask({ do: 'close' });
  await filler.end();
  const server = await startServer(place, execArgv);
  await checkAnswers(server, filled);
  return { server, requests: requestsFor(filled), nextNumber: filled.nextNumber, fillSeconds: filled.seconds };
}

export class Generator {
  readonly #child: Child = startChild('./generator.ts');

  /** Sends one kind of request to a target for some seconds, or until `maxRequests`. */
  async load(
    target: Target,
    operation: Operation,
    seconds: number,
    maxRequests: number | null = null,
  ): Promise<Measurement> {
    const plan = { port: target.server.port, requests: target.requests[operation], firstNumber: target.nextNumber };
    const load = await this.#run({ ...plan, seconds, maxRequests, connections: CONNECTIONS }, target.server.process);
    target.nextNumber = load.nextNumber;
    return load;
  }

  async hello(server: { port: number; child: Child }, seconds: number): Promise<Measurement> {
    const requests = ['GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: keep-alive\r\n\r\n'];
    const plan = { port: server.port, requests, firstNumber: 0, seconds, maxRequests: null, connections: CONNECTIONS };
    return this.#run(plan, server.child.process);
  }

  async #run(plan: Plan, server: RunningServer['process']): Promise<Measurement> {
    const before = cpuSeconds(server);
    const load = await this.#child.ask<Load>(plan);
    const after = cpuSeconds(server);
    const serverCpuUs = before === null || after === null ? null : ((after - before) / load.requests) * 1e6;
    return { ...load, serverCpuUs };
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
