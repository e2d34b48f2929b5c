import assert from 'node:assert/strict';
import type { Operation, Snapshot } from '../../src/storage/storage.ts';
import type { ServerProcess } from '../support/server.ts';
import { sha256 } from './fleet.ts';
import type { Random } from './seed.ts';

/** A version as its writer knows it; the id is null where no answer tells it (a deletion, a lost reply). */
type Known = { id: string | null; operation: Operation; path: string; sha256: string | null };
type Owned = { id: string; path: string; content: string; live: boolean; history: Known[] };
/** A write that was sent and not yet answered: the memory (null for a create) and the version it would make. */
type Pending = { memory: Owned | null; version: Known; content: string };
type Found = { id: string; memoryId: string } & Known;

/**
 * One client that writes one request after the other to paths of its own, and knows from the answers what the database
 * must hold. A request without an answer may have been done or not, but wholly so; `reconcile` finds out which.
 */
class Writer {
  readonly #name: number;
  readonly #random: Random;
  readonly #memories: Owned[] = [];
  /** Every acknowledged version with a known id, in the order of the answers. */
  readonly #acknowledged: string[] = [];
  #pending: Pending | null = null;
  #count = 0;

  constructor(name: number, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  /** Writes until a request fails; only a connection that ended may be the reason. */
  async run(server: ServerProcess, store: string, ended: () => boolean): Promise<void> {
    for (;;) {
      const count = ++this.#count;
      const live = this.#memories.filter((memory) => memory.live);
      const memory =
        live.length < 3 || (live.length < 30 && this.#random.next() < 0.3) ? null : this.#random.pick(live);
      // From nothing to several pages of the database, so that writes of all sizes are cut.
      const content = `${this.#name}:${count} ${this.#random.text(this.#random.pick([0, 10, 300, 5000, 40_000]))}`;
      const path = `/${this.#name}/${this.#random.pick(['a', 'b/c', 'd/e/f'])}/${count}`;
      let answer: Awaited<ReturnType<ServerProcess['call']>>;
      try {
        answer = await this.#send(server, store, memory, path, content);
      } catch (error) {
        if (ended()) return;
        throw error;
      }
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      this.#settle(answer.body.id, answer.body.memory_version_id ?? null);
    }
  }

  #send(server: ServerProcess, store: string, memory: Owned | null, path: string, content: string) {
    if (memory === null) {
      this.#pending = { memory, content, version: { id: null, operation: 'created', path, sha256: sha256(content) } };
      return server.call('POST', `${store}/memories`, { body: { path, content } });
    }
    const url = `${store}/memories/${memory.id}`;
    const old = sha256(memory.content);
    const modify = (change: { path?: string; content?: string }) => {
      const text = change.content ?? memory.content;
      this.#pending = {
        memory,
        content: text,
        version: { id: null, operation: 'modified', path: change.path ?? memory.path, sha256: sha256(text) },
      };
      return server.call('POST', url, {
        body: { ...change, precondition: { type: 'content_sha256', content_sha256: old } },
      });
    };
    const dice = this.#random.next();
    if (dice < 0.5) return modify({ content });
    if (dice < 0.7) return modify({ path });
    if (dice < 0.8) return modify({ path, content });
    this.#pending = {
      memory,
      content: '',
      version: { id: null, operation: 'deleted', path: memory.path, sha256: null },
    };
    return server.call('DELETE', `${url}?expected_content_sha256=${old}`);
  }

  /** The pending write is in the database. */
  #settle(memoryId: string, versionId: string | null): void {
    const { memory, version, content } = this.#pending as Pending;
    this.#pending = null;
    const settled = { ...version, id: versionId };
    if (versionId !== null) this.#acknowledged.push(versionId);
    if (memory === null) {
      this.#memories.push({ id: memoryId, path: version.path, content, live: true, history: [settled] });
      return;
    }
    memory.history.push(settled);
    memory.path = version.path;
    memory.content = content;
    memory.live = version.operation !== 'deleted';
  }

  /** Compares what the database holds with what is known, adopts a pending write that was done, drops one that was not. */
  reconcile(state: State): void {
    if (this.#pending !== null) {
      const { memory, version } = this.#pending;
      const landed =
        memory === null
          ? state.createdAt.get(version.path)
          : (state.histories.get(memory.id) ?? [])[memory.history.length];
      if (landed) this.#settle(landed.memoryId, landed.id);
      else this.#pending = null;
    }
    for (const memory of this.#memories) {
      const found = state.histories.get(memory.id) ?? [];
      state.histories.delete(memory.id);
      assert.deepEqual(
        found.map(({ operation, path, sha256 }) => ({ operation, path, sha256 })),
        memory.history.map(({ operation, path, sha256 }) => ({ operation, path, sha256 })),
        `the history of ${memory.id} is that of its acknowledged writes`,
      );
      memory.history.forEach((known, i) => {
        if (known.id !== null) assert.equal(found[i]?.id, known.id, 'each version has the id that was answered');
      });
      const head = state.live.get(memory.id);
      state.live.delete(memory.id);
      assert.deepEqual(
        head,
        memory.live ? { path: memory.path, sha256: sha256(memory.content), versionId: found.at(-1)?.id } : undefined,
        `${memory.id} is as its last acknowledged write left it`,
      );
    }
    const positions = this.#acknowledged.map((id) => state.positions.get(id) as number);
    assert.ok(
      positions.every((position, i) => i === 0 || position > (positions[i - 1] as number)),
      'versions are in the order in which they were acknowledged',
    );
  }

  get writes(): number {
    return this.#count;
  }
}

/** What a database holds, as `verify` reads it: the bytes themselves, not the recorded hashes. */
export class State {
  readonly histories = new Map<string, Found[]>();
  readonly createdAt = new Map<string, Found>();
  readonly positions = new Map<string, number>();
  readonly live = new Map<string, { path: string; sha256: string; versionId: string }>();

  static async read(snapshot: Snapshot): Promise<State> {
    const state = new State();
    for await (const version of snapshot.versions()) {
      const { id, memoryId, operation, path, position, bytes } = version;
      const found = { id, memoryId, operation, path: path as string, sha256: bytes === null ? null : sha256(bytes) };
      const history = state.histories.get(memoryId) ?? [];
      assert.equal(version.versionNumber, history.length + 1, `the versions of ${memoryId} count up from 1`);
      history.push(found);
      state.histories.set(memoryId, history);
      state.positions.set(id, position);
      // Writers use a path once.
      if (operation === 'created') state.createdAt.set(found.path, found);
    }
    for await (const { id, path, contentSha256, versionId } of snapshot.memories())
      state.live.set(id, { path, sha256: contentSha256, versionId });
    return state;
  }
}

/** Several writers on one store. */
export class Load {
  readonly #writers: Writer[];

  constructor(count: number, random: Random) {
    this.#writers = Array.from({ length: count }, (_, name) => new Writer(name, random));
  }

  /** Writes until `ended` answers true and the connections break. */
  async run(server: ServerProcess, store: string, ended: () => boolean): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.run(server, store, ended)));
  }

  /** Fails unless the database holds every acknowledged write and nothing that nobody wrote. */
  reconcile(state: State): void {
    for (const writer of this.#writers) writer.reconcile(state);
    assert.deepEqual([...state.histories.keys(), ...state.live.keys()], [], 'there is nothing that nobody wrote');
  }

  get writes(): number {
    return this.#writers.reduce((sum, writer) => sum + writer.writes, 0);
  }
}
