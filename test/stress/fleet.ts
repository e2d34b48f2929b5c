import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { verify } from '../../src/domain/verify.ts';
import { snapshotPostgres } from '../../src/storage/postgres/open.ts';
import { snapshotSqlite } from '../../src/storage/sqlite/open.ts';
import type { Snapshot } from '../../src/storage/storage.ts';
import type { Database, Engine } from '../support/engines.ts';
import { type Answer, type Request, type ServerProcess, spawnServer } from '../support/server.ts';

export const CLIENTS = 20;

export const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');

/** Reads one state of a database, beside running servers or without one. */
export function snapshot<T>(database: Database, read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return database.databaseUrl === null
    ? snapshotSqlite(database.dataDir, read)
    : snapshotPostgres(database.databaseUrl, read);
}

/** `mneme verify`, in this process; fails with what it found. */
export async function checkClean(database: Database): Promise<void> {
  const { problems } = await snapshot(database, verify);
  assert.deepEqual(problems, [], 'verify is clean');
}

/** All server processes of one service, and their database. */
export class Fleet {
  readonly database: Database;
  readonly servers: ServerProcess[];
  #next = 0;

  private constructor(database: Database, servers: ServerProcess[]) {
    this.database = database;
    this.servers = servers;
  }

  /** Two processes on PostgreSQL; one on SQLite, which allows no second one. */
  static async start(engine: Engine, flags: string[] = []): Promise<Fleet> {
    const database = await engine.create();
    const count = engine.name === 'postgres' ? 2 : 1;
    const started = await Promise.allSettled(Array.from({ length: count }, () => spawnServer(database, { flags })));
    const servers = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = started.find((each) => each.status === 'rejected');
    const fleet = new Fleet(database, servers);
    if (failed) {
      await fleet.stop();
      throw failed.reason;
    }
    return fleet;
  }

  async stop(): Promise<void> {
    const codes = await Promise.all(this.servers.map((server) => server.end()));
    await this.database.drop();
    for (const code of codes) assert.equal(code, 0, 'each server stops cleanly');
  }

  /** A request to the next server in turn. */
  call(method: string, path: string, body?: unknown, request: Request = {}): Promise<Answer> {
    const server = this.servers[this.#next++ % this.servers.length] as ServerProcess;
    return server.call(method, path, { ...request, body });
  }

  /** The path of a new store. */
  async newStore(): Promise<string> {
    const { status, body } = await this.call('POST', '/v1/memory_stores', { name: 'stress' });
    assert.equal(status, 200);
    return `/v1/memory_stores/${body.id}`;
  }

  /** A memory that must come into being. */
  async newMemory(store: string, path: string, content: string) {
    const { status, body } = await this.call('POST', `${store}/memories`, { path, content });
    assert.equal(status, 200, JSON.stringify(body));
    return body as Memory;
  }

  /** Every item of a list, page by page. */
  async all(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let page: string | null = ''; page !== null; ) {
      const query = `limit=100${page === '' ? '' : `&page=${page}`}`;
      const { status, body } = await this.call('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      items.push(...body.data);
      page = body.next_page;
    }
    return items;
  }
}

export type Memory = { id: string; path: string; memory_version_id: string; content_sha256: string };

/** The fields of memories and versions that these tests read. */
export type Item = {
  id: string;
  path: string;
  memory_id: string;
  memory_version_id: string;
  operation: 'created' | 'modified' | 'deleted';
  content_sha256: string | null;
  redacted_at: string | null;
  created_at: string;
  updated_at: string;
};

/** Fails unless exactly `count` answers have `status` (and the error type); answers those. */
export function expectCount(answers: Answer[], count: number, status: number, type?: string): Answer[] {
  const matching = answers.filter((each) => each.status === status && (!type || each.body.error?.type === type));
  const summary = answers.map((each) => `${each.status} ${each.body.error?.message ?? ''}`).join('\n');
  assert.equal(matching.length, count, `${count} answers with ${status} ${type ?? ''} among\n${summary}`);
  return matching;
}
