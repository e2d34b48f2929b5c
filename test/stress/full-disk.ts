import assert from 'node:assert/strict';
import type { Answer, ServerProcess } from '../support/server.ts';
import { sha256 } from './fleet.ts';
import type { Random } from './seed.ts';

type Kept = { id: string; versionId: string; sha256: string };

/** Writes to a store on a disk that fills up, and knows what was acknowledged. */
export class Ledger {
  readonly #random: Random;
  readonly #kept = new Map<string, Kept>();
  #store = '';
  #count = 0;
  #versions = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  async begin(server: ServerProcess): Promise<void> {
    const { status, body } = await server.call('POST', '/v1/memory_stores', { body: { name: 'full disk' } });
    assert.equal(status, 200);
    this.#store = `/v1/memory_stores/${body.id}`;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** One create, change or deletion; answers whether the disk had room for it. A refusal must be a clear one. */
  async write(server: ServerProcess): Promise<boolean> {
    const count = ++this.#count;
    const content = `${count} ${this.#random.text(this.#random.pick([10, 1000, 20_000, 100_000]))}`;
    const dice = this.#random.next();
    const paths = [...this.#kept.keys()];
    if (dice < 0.6 || paths.length < 10) {
      const path = `/${count}`;
      const answer = await server.call('POST', `${this.#store}/memories`, { body: { path, content } });
      if (this.#refused(answer)) return false;
      this.#keep(path, answer);
      return true;
    }
    const path = this.#random.pick(paths);
    const kept = this.#kept.get(path) as Kept;
    // Taken out while it is changed, so that no two writers change one memory.
    this.#kept.delete(path);
    const url = `${this.#store}/memories/${kept.id}`;
    const answer =
      dice < 0.9 ? await server.call('POST', url, { body: { content } }) : await server.call('DELETE', url);
    if (this.#refused(answer)) {
      this.#kept.set(path, kept);
      return false;
    }
    if (dice < 0.9) this.#keep(path, answer);
    else this.#versions++;
    return true;
  }

  #keep(path: string, { body }: Answer): void {
    this.#versions++;
    this.#kept.set(path, { id: body.id, versionId: body.memory_version_id, sha256: body.content_sha256 });
  }

  #refused({ status, body }: Answer): boolean {
    if (status === 200) return false;
    assert.equal(status, 507, JSON.stringify(body));
    assert.equal(body.error.type, 'api_error');
    assert.match(body.error.message, /disk .*full.* Nothing of this request was stored\. Free space/);
    return true;
  }

  /** Several clients write until each was refused a few times; some writes are smaller than the one refused before. */
  async writeUntilFull(server: ServerProcess): Promise<void> {
    const client = async () => {
      for (let refused = 0; refused < 4; ) if (!(await this.write(server))) refused++;
    };
    await Promise.all(Array.from({ length: 6 }, client));
  }

  /** `count` writes of which none may be refused. */
  async writeFreely(server: ServerProcess, count: number): Promise<void> {
    for (let i = 0; i < count; i++) assert.ok(await this.write(server), 'there is room, and the write succeeds');
  }

  /** Reads everything: exactly the acknowledged writes are there, with their text. */
  async check(server: ServerProcess): Promise<void> {
    const found = new Map<string, Kept>();
    for (let page: string | null = ''; page !== null; ) {
      const url: string = `${this.#store}/memories?view=full${page === '' ? '' : `&page=${page}`}`;
      const { status, body } = await server.call('GET', url);
      assert.equal(status, 200, JSON.stringify(body));
      for (const memory of body.data)
        found.set(memory.path, {
          id: memory.id,
          versionId: memory.memory_version_id,
          sha256: sha256(memory.content),
        });
      page = body.next_page;
    }
    const byPath = (map: Map<string, Kept>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(byPath(found), byPath(this.#kept));
    let versions = 0;
    for (let page: string | null = ''; page !== null; ) {
      const url: string = `${this.#store}/memory_versions?limit=100${page === '' ? '' : `&page=${page}`}`;
      const { status, body } = await server.call('GET', url);
      assert.equal(status, 200, JSON.stringify(body));
      versions += body.data.length;
      page = body.next_page;
    }
    assert.equal(versions, this.#versions, 'there is a version for each acknowledged write and no other');
  }
}
