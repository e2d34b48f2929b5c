import { hash } from 'node:crypto';
import { ancestorsOf, explainPath, LIMITS } from '../contract/limits.ts';
import type { ScannedMemory, ScannedVersion, Snapshot } from '../storage/storage.ts';

/** One thing that is wrong, and with which object. Never memory text or a path. */
export type Problem = { object: string; problem: string };

export type Report = {
  stores: number;
  memories: number;
  versions: number;
  problems: Problem[];
  /** Redactions whose bytes may remain in free space or logs until the next scrub. Not damage. */
  pendingScrubs: number;
};

type Head = Pick<
  ScannedMemory,
  'storeKey' | 'path' | 'versionId' | 'versionNumber' | 'contentKey' | 'contentSha256' | 'contentBytes'
>;

/**
 * Checks one consistent state of the database: each live memory's newest version exists and agrees with it; sizes and
 * hashes match the bytes; no path breaks the rules or overlaps another; the counts of the stores match; nothing is
 * left that nothing refers to. Reads every text once. Memory use is about 300 bytes a live memory.
 */
export async function verify(snapshot: Snapshot): Promise<Report> {
  const problems: Problem[] = [];
  const say = (object: string, problem: string) => problems.push({ object, problem });

  for (const line of await snapshot.integrity()) say('database', `the engine's integrity check says: ${line}`);

  const stores = new Map<number, { id: string; expected: number; found: number }>();
  const deletedStores = new Set<number>();
  for await (const store of snapshot.stores()) {
    if (store.deleted) deletedStores.add(store.key);
    else stores.set(store.key, { id: store.id, expected: store.memoryCount, found: 0 });
  }

  const heads = new Map<string, Head>();
  await checkMemories(snapshot, stores, deletedStores, heads, say);
  for (const store of stores.values())
    if (store.found !== store.expected)
      say(store.id, `memory_count says ${store.expected}, and the store holds ${store.found} memories`);

  const deleted = new Set<string>();
  for await (const id of snapshot.deletedMemoryIds()) {
    deleted.add(id);
    if (heads.has(id)) say(id, 'is recorded as deleted and is live');
  }

  let versions = 0;
  const seen = new Set<string>();
  for await (const version of snapshot.versions()) {
    versions++;
    checkVersion(version, say);
    if (!stores.has(version.storeKey) && !deletedStores.has(version.storeKey))
      say(version.id, 'belongs to a store that does not exist');
    const head = heads.get(version.memoryId);
    if (!head) {
      if (!deleted.has(version.memoryId) && !deletedStores.has(version.storeKey))
        say(version.id, `belongs to the memory ${version.memoryId}, which is neither live nor recorded as deleted`);
    } else if (version.id === head.versionId) {
      seen.add(version.memoryId);
      checkHead(version, head, say);
    } else if (version.versionNumber >= head.versionNumber)
      say(version.id, `is newer than the current version of its memory ${version.memoryId}`);
  }
  for (const [id, head] of heads) if (!seen.has(id)) say(id, `its current version ${head.versionId} does not exist`);

  for await (const key of snapshot.unusedContentKeys()) say(`text ${key}`, 'is kept although no version refers to it');

  return {
    stores: stores.size,
    memories: heads.size,
    versions,
    problems,
    pendingScrubs: await snapshot.pendingScrubs(),
  };
}

type Say = (object: string, problem: string) => void;

async function checkMemories(
  snapshot: Snapshot,
  stores: Map<number, { id: string; expected: number; found: number }>,
  deletedStores: Set<number>,
  heads: Map<string, Head>,
  say: Say,
): Promise<void> {
  let current = Number.NaN;
  // Paths of the store being read. Ancestors sort before what is below them, so one look back finds each overlap.
  let paths = new Set<string>();
  for await (const memory of snapshot.memories()) {
    const store = stores.get(memory.storeKey);
    if (!store) {
      if (!deletedStores.has(memory.storeKey)) say(memory.id, 'belongs to a store that does not exist');
      else heads.set(memory.id, memory);
      continue;
    }
    store.found++;
    if (memory.storeKey !== current) {
      current = memory.storeKey;
      paths = new Set();
    }
    const explained = explainPath(memory.path);
    if (explained !== null) say(memory.id, `its ${explained}`);
    if (paths.has(memory.path)) say(memory.id, 'its path is that of another memory of the store');
    if (ancestorsOf(memory.path).some((ancestor) => paths.has(ancestor)))
      say(memory.id, 'its path lies below the path of another memory');
    paths.add(memory.path);
    heads.set(memory.id, memory);
  }
}

function checkHead(version: ScannedVersion, head: Head, say: Say): void {
  const differs = (
    [
      ['path', version.path === head.path],
      ['store', version.storeKey === head.storeKey],
      ['number', version.versionNumber === head.versionNumber],
      ['text', version.contentKey === head.contentKey],
      ['hash', version.contentSha256 === head.contentSha256],
      ['size', version.contentBytes === head.contentBytes],
    ] as const
  ).filter(([, same]) => !same);
  for (const [what] of differs) say(version.memoryId, `its ${what} is not that of its current version ${version.id}`);
  if (version.operation === 'deleted')
    say(version.memoryId, `is live, and its current version ${version.id} is a deletion`);
  if (version.redacted) say(version.memoryId, `is live, and its current version ${version.id} is redacted`);
}

function checkVersion(version: ScannedVersion, say: Say): void {
  if (version.redacted || version.operation === 'deleted') {
    if (version.contentKey !== null || version.contentSha256 !== null || version.contentBytes !== null)
      say(version.id, `is ${version.redacted ? 'redacted' : 'a deletion'} and still has text`);
    if (version.redacted !== (version.path === null))
      say(version.id, version.redacted ? 'is redacted and still has a path' : 'has no path');
    return;
  }
  if (version.path === null) say(version.id, 'has no path');
  if (version.bytes === null) {
    say(version.id, 'its text does not exist');
    return;
  }
  if (version.bytes.length !== version.contentBytes)
    say(version.id, `says ${version.contentBytes} bytes, and its text has ${version.bytes.length}`);
  if (version.bytes.length > LIMITS.contentBytes) say(version.id, 'its text is larger than the limit');
  if (hash('sha256', version.bytes, 'hex') !== version.contentSha256)
    say(version.id, 'its hash is not that of its text: the text was damaged or changed outside Mneme');
}
