import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { type Config, readConfig } from '../../src/config.ts';
import type { Patience } from '../../src/http/app.ts';
import { createLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import type { Database } from './engines.ts';

export const ADMIN_KEY = 'sk-mneme-test-admin-key-0123456789';
export const BETA = 'agent-memory-2026-07-22';
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: tests read the JSON of many endpoints
export type Answer = { status: number; headers: Headers; body: any };

/** One raw request; the body is sent as JSON unless it is a string already. */
export type Request = {
  key?: string | null;
  beta?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
};

/** Sends requests as a plain HTTP client, with the admin key and the beta header unless told otherwise. */
export function caller(url: string) {
  return async (method: string, path: string, request: Request = {}): Promise<Answer> => {
    const { key = ADMIN_KEY, beta = BETA, headers = {}, body } = request;
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === null ? {} : { 'x-api-key': key }),
        ...(beta === null ? {} : { 'anthropic-beta': beta }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };
}

/** The official client; it does not retry, so that each answer is seen. */
export function client(url: string, key: string = ADMIN_KEY): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
}

export type TestServer = {
  url: string;
  call: ReturnType<typeof caller>;
  client: Anthropic;
  /** The log's lines so far, as text. */
  log: string[];
  server: Awaited<ReturnType<typeof startServer>>;
  stop(): Promise<void>;
};

/** A server inside this process. */
export async function startInProcess(
  database: Database,
  overrides: { config?: Partial<Config>; now?: () => number; patience?: Patience } = {},
): Promise<TestServer> {
  const log: string[] = [];
  const config = {
    ...readConfig(
      {
        'data-dir': database.dataDir,
        'database-url': database.databaseUrl ?? '',
        'api-key': ADMIN_KEY,
        port: '0',
      },
      {},
    ),
    ...overrides.config,
  };
  const server = await startServer(
    config,
    createLog(config.logLevel, (line) => void log.push(line)),
    { now: overrides.now, patience: overrides.patience },
  );
  return {
    url: server.url,
    call: caller(server.url),
    client: client(server.url),
    log,
    server,
    stop: () => server.stop(),
  };
}

export type ServerProcess = {
  url: string;
  call: ReturnType<typeof caller>;
  client: Anthropic;
  child: ChildProcess;
  /** What it wrote on standard output and standard error so far. */
  output: { out: string; err: string };
  /** Sends the signal and waits for the end; answers the exit code or the signal's name. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
};

/** A server in a process of its own; resolves when it listens and rejects with its output when it ends before. */
export async function spawnServer(
  database: Database,
  options: { flags?: string[]; env?: Record<string, string>; apiKey?: string | null } = {},
): Promise<ServerProcess> {
  const { apiKey = ADMIN_KEY } = options;
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'serve',
      '--port',
      '0',
      ...database.flags,
      ...(apiKey === null ? [] : ['--api-key', apiKey]),
      ...(options.flags ?? []),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, ...options.env } },
  );
  const output = { out: '', err: '' };
  child.stderr.on('data', (data) => {
    output.err += data;
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (data) => {
      output.out += data;
      const match = /listens on (http:\S+)/.exec(output.out);
      if (match?.[1]) resolve(match[1]);
    });
    ended.then(([code]) => reject(new Error(`the server ended with ${code}:\n${output.out}${output.err}`)), reject);
  });
  return {
    url,
    call: caller(url),
    client: client(url),
    child,
    output,
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      const [code, killedBy] = await ended;
      return code ?? killedBy ?? 'unknown';
    },
  };
}

/** Runs a command of `mneme` to its end. */
export async function mneme(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}
