import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { Failure } from '../../src/contract/errors.ts';
import { createIdSource } from '../../src/contract/ids.ts';
import type { Principal } from '../../src/domain/access.ts';
import * as memories from '../../src/domain/memories.ts';
import * as stores from '../../src/domain/stores.ts';
import { verify } from '../../src/domain/verify.ts';
import * as versions from '../../src/domain/versions.ts';
import type { World } from '../../src/domain/world.ts';
import type { Actor, Storage } from '../../src/storage/storage.ts';
import { ENGINES } from '../support/engines.ts';
import { Model, type Verdict } from './model.ts';

const LIMIT = 6;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

// Few names, so that paths meet: prefixes of each other, wildcards of SQL, and a pair whose byte order differs from
// the order of UTF-16 units.
const segment = fc.constantFrom('a', 'ab', 'a.b', '%', '_', '\uffee', '😀');
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const content = fc.constantFrom('', 'x', 'y', '\0\ufeff\r\n', 'x'.repeat(5000));
const index = fc.nat(9);
const author = fc.nat(2);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2 });

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('create' as const), path, content, author }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      index,
      path: maybe(path),
      content: maybe(content),
      expected: maybe(content),
      author,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), index, expected: maybe(content), author }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('redact' as const), index: fc.nat(20), author }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tick' as const), by: fc.integer({ min: -5000, max: 5000 }) }) },
);
const archive = { do: 'archive' as const };
type Step = (typeof step extends fc.Arbitrary<infer S> ? S : never) | typeof archive;

const ACTORS: Actor[] = [
  { type: 'api_actor', id: 'apikey_1' },
  { type: 'user_actor', id: 'user_1' },
  { type: 'session_actor', id: 'sesn_1' },
];

/** Drives the real operations and the model side by side and compares every answer and then the whole store. */
class Comparison {
  readonly model = new Model(LIMIT);
  readonly memoryIds: string[] = [];
  readonly world: World;
  readonly storage: Storage;
  storeId = '';
  time = 1_700_000_000_000;

  constructor(storage: Storage, workspaceId: string) {
    this.storage = storage;
    this.workspaceId = workspaceId;
    this.world = {
      storage,
      now: () => this.time,
      newId: createIdSource(() => this.time),
      settings: { maxMemoriesPerStore: LIMIT, versionRetentionDays: 30, keepRecentVersions: 10 },
      defaultWorkspaceId: workspaceId,
      sweepSoon: async () => {},
    };
  }
  readonly workspaceId: string;

  as(author: number): Principal {
    const actor = ACTORS[author] as Actor;
    const sessionEventId = actor.type === 'session_actor' ? 'sevt_1' : null;
    return { workspaceId: this.workspaceId, keyId: 'apikey_1', role: 'admin', actor, sessionEventId };
  }

  async start(): Promise<void> {
    const store = await stores.createStore(this.world, this.as(0), { name: 's', description: '', metadata: {} });
    this.storeId = store.id;
  }

  /** The ids of versions in order of writing. */
  async versionIds(): Promise<string[]> {
    return (await this.allVersions()).map((version) => version.id);
  }

  async allVersions() {
    const { versions: list } = await versions.listVersions(this.world, this.as(0), this.storeId, {
      memoryId: null,
      operation: null,
      actors: [],
      createdFrom: null,
      createdTo: null,
      before: null,
      limit: 1000,
      withContent: true,
    });
    return list.reverse();
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'tick':
        this.time += step.by;
        return;
      case 'archive':
        this.model.archived = true;
        await stores.archiveStore(this.world, this.as(0), this.storeId);
        return;
      case 'create':
        return this.same(this.model.create(step.path, step.content, ACTORS[step.author] as Actor), () =>
          memories.createMemory(this.world, this.as(step.author), this.storeId, { ...step, repeated: false }),
        );
      case 'update':
        return this.same(this.model.update(step.index, step, ACTORS[step.author] as Actor), () =>
          memories.updateMemory(this.world, this.as(step.author), this.storeId, this.id(step.index), {
            path: step.path,
            content: step.content,
            expectedSha256: step.expected === null ? null : sha256(step.expected),
            withContent: false,
          }),
        );
      case 'remove':
        return this.same(this.model.remove(step.index, step.expected, ACTORS[step.author] as Actor), async () => {
          await memories.deleteMemory(this.world, this.as(step.author), this.storeId, this.id(step.index), {
            expectedSha256: step.expected === null ? null : sha256(step.expected),
            repeated: false,
          });
          return { id: this.id(step.index) };
        });
      case 'redact': {
        const ids = await this.versionIds();
        const expected = this.model.redact(step.index, ACTORS[step.author] as Actor);
        const got = await outcome(() =>
          versions.redactVersion(this.world, this.as(step.author), this.storeId, ids[step.index] ?? 'memver_none'),
        );
        if ('error' in expected) assert.equal(got.error, expected.error);
        else
          assert.deepEqual(
            got.value?.identicalVersionIds,
            expected.identical.map((i) => ids[i]),
          );
      }
    }
  }

  id(index: number): string {
    return this.memoryIds[index] ?? 'mem_none';
  }

  async same(expected: Verdict, act: () => Promise<{ id: string }>): Promise<void> {
    const got = await outcome(act);
    if ('error' in expected) {
      assert.equal(got.error, expected.error);
      // Which of several overlapping memories is named is the engine's choice; that one is, is not.
      if (expected.conflict !== undefined) assert.ok(this.model.live.some((memory) => memory.path === got.conflict));
      return;
    }
    assert.equal(got.error, undefined);
    this.memoryIds[expected.memory] ??= got.value?.id ?? '';
    assert.equal(got.value?.id, this.memoryIds[expected.memory]);
  }

  async compareAll(): Promise<void> {
    const written = await this.allVersions();
    assert.deepEqual(
      written.map(({ memoryId, operation, path, content, actor, redactedBy, contentBytes, contentSha256 }) => ({
        memoryId,
        operation,
        path,
        content,
        actor,
        redactedBy,
        contentBytes,
        contentSha256,
      })),
      this.model.versions.map(({ memory, operation, path, content, actor, redactedBy }) => ({
        memoryId: this.memoryIds[memory],
        operation,
        path,
        content,
        actor,
        redactedBy,
        contentBytes: content === null ? null : Buffer.byteLength(content),
        contentSha256: content === null ? null : sha256(content),
      })),
    );
    for (const version of written)
      assert.equal(version.sessionEventId, version.actor?.type === 'session_actor' ? 'sevt_1' : null);
    for (const [i, memory] of this.model.memories.entries()) {
      const got = await outcome(() => memories.retrieveMemory(this.world, this.as(0), this.storeId, this.id(i), true));
      if (!memory.live) {
        assert.equal(got.error, 'not_found');
        continue;
      }
      assert.deepEqual(
        [got.value?.path, got.value?.content, got.value?.contentSha256, got.value?.versionId],
        [memory.path, memory.content, sha256(memory.content), written[memory.head]?.id],
      );
    }
    const prefixes = ['/', '/a/', '/ab/', '/%/', '/_/', '/a/a/', '/😀/'];
    for (const prefix of prefixes)
      for (const depth of [0, 1] as const)
        for (const limit of [1, 2, 100])
          assert.deepEqual(await this.listed(prefix, depth, limit), this.model.list(prefix, depth));
  }

  /** A whole list, page by page. */
  async listed(prefix: string, depth: 0 | 1, limit: number): Promise<string[]> {
    const shown: string[] = [];
    for (let after: string | null = null; ; ) {
      const page = await memories.listMemories(this.world, this.as(0), this.storeId, {
        prefix,
        depth,
        after,
        limit,
        withContent: true,
      });
      for (const entry of page.entries) {
        if (!('prefix' in entry)) {
          const live = this.model.live.find((memory) => memory.path === entry.path);
          assert.equal(entry.content, live?.content);
        }
        shown.push('prefix' in entry ? entry.prefix : entry.path);
      }
      if (!page.more) return shown;
      after = shown.at(-1) as string;
    }
  }
}

type Outcome<T> = { value?: T; error?: string; conflict?: string };

async function outcome<T>(act: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await act() };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { error: error.name, conflict: error.details.conflicting_path };
  }
}

for (const engine of ENGINES)
  test(`${engine.name}: random operations agree with the model, step by step`, { skip: engine.skip }, async () => {
    const database = await engine.create();
    const storage = await database.open();
    try {
      const workspace = { id: 'wrkspc_1', name: 'one', createdAt: 0 };
      await storage.keys.createWorkspace(workspace);
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 40, size: 'max' }),
          fc.array(step, { maxLength: 8 }),
          fc.boolean(),
          async (before, after, archived) => {
            const comparison = new Comparison(storage, workspace.id);
            await comparison.start();
            const steps: Step[] = archived ? [...before, archive, ...after] : before;
            for (const each of steps) await comparison.take(each);
            await comparison.compareAll();
          },
        ),
        { numRuns: engine.name === 'sqlite' ? 150 : 80, seed: 20_261_201 },
      );
      const report = await storage.snapshot(verify);
      assert.deepEqual(report.problems, []);
      assert.ok(report.versions > 200, 'the sequences wrote something');
    } finally {
      await storage.close();
      await database.drop();
    }
  });
