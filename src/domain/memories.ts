import { hash } from 'node:crypto';
import { Failure, invalid, notFound } from '../contract/errors.ts';
import { isReference } from '../contract/ids.ts';
import { explainContent, explainPath, explainPathPrefix } from '../contract/limits.ts';
import type { Author, MemoryListEntry, MemoryRecord, PathConflict, StoreRef, Text } from '../storage/storage.ts';
import { type Principal, requireRole } from './access.ts';
import { refTo, storeArchived, storeMissing } from './stores.ts';
import type { World } from './world.ts';

// A client that lost the answer repeats its request within its own time-out, ten minutes in the official SDKs.
const REPEAT_WINDOW_MS = 15 * 60_000;

function toText(content: string): Text {
  const explained = explainContent(content);
  if (explained !== null) throw invalid(`${explained}.`);
  const bytes = Buffer.from(content, 'utf8');
  return { bytes, sha256: hash('sha256', bytes, 'hex') };
}

function checkPath(path: string): void {
  const explained = explainPath(path);
  if (explained !== null) throw invalid(`${explained}.`);
}

function authorOf(world: World, principal: Principal): Author {
  return { actor: principal.actor, sessionEventId: principal.sessionEventId, now: world.now() };
}

function memoryMissing(memoryId: string): Failure {
  return notFound('Memory', memoryId);
}

function preconditionFailed(): Failure {
  return new Failure(
    'precondition_failed',
    'The memory was changed since you read it. Retrieve it, apply your change to its current content, and retry with its content_sha256.',
  );
}

function pathConflict(conflict: PathConflict): Failure {
  return new Failure(
    'path_conflict',
    'The path is taken by another memory, or lies above or below one. Update that memory instead, rename or delete it, or choose another path.',
    { conflicting_memory_id: conflict.memoryId, conflicting_path: conflict.path },
  );
}

/** The newest version of a memory, if this caller wrote it just now: what a repeated request looks for. */
async function ownRecentVersion(world: World, principal: Principal, ref: StoreRef, memoryId: string) {
  const versions = await world.storage.versions.list(ref, {
    memoryId,
    operation: null,
    actor: null,
    createdFrom: null,
    createdTo: null,
    before: null,
    limit: 1,
    withContent: false,
  });
  const newest = versions?.[0];
  const own = newest?.actor?.type === principal.actor.type && newest.actor.id === principal.actor.id;
  return newest && own && newest.createdAt >= world.now() - REPEAT_WINDOW_MS ? newest : null;
}

/**
 * Creates a memory. `repeated` says that the client sends the request again because it lost the answer: then a memory
 * that this caller just created at this path with this text is the answer, and no second version is written.
 * The answer has no content; the caller has it. Raises `invalid_request` (limits, a full or archived store),
 * `path_conflict`, `not_found`, `forbidden`.
 */
export async function createMemory(
  world: World,
  principal: Principal,
  storeId: string,
  input: { path: string; content: string; repeated: boolean },
): Promise<MemoryRecord> {
  requireRole(principal, 'developer');
  checkPath(input.path);
  const text = toText(input.content);
  const ref = refTo(principal, storeId);
  const result = await world.storage.memories.create(ref, {
    ...authorOf(world, principal),
    memoryId: world.newId('mem'),
    versionId: world.newId('memver'),
    path: input.path,
    text,
    maxMemories: world.settings.maxMemoriesPerStore,
  });
  switch (result.outcome) {
    case 'created':
      return result.memory;
    case 'path_conflict': {
      if (input.repeated && result.path === input.path) {
        const version = await ownRecentVersion(world, principal, ref, result.memoryId);
        if (version?.operation === 'created' && version.contentSha256 === text.sha256) {
          const memory = await world.storage.memories.get(ref, result.memoryId, false);
          if (memory?.versionId === version.id) return memory;
        }
      }
      throw pathConflict(result);
    }
    case 'store_full':
      throw invalid(
        `The memory store holds ${world.settings.maxMemoriesPerStore} memories, the most it can. Delete or merge some, or create another store.`,
      );
    case 'store_archived':
      throw storeArchived();
    case 'store_missing':
      throw storeMissing(storeId);
  }
}

/** Raises `not_found`. */
export async function retrieveMemory(
  world: World,
  principal: Principal,
  storeId: string,
  memoryId: string,
  withContent: boolean,
): Promise<MemoryRecord> {
  requireRole(principal, 'read_only');
  const memory = isReference(memoryId)
    ? await world.storage.memories.get(refTo(principal, storeId), memoryId, withContent)
    : null;
  if (!memory) throw memoryMissing(memoryId);
  return memory;
}

/**
 * Changes the text, the path or both in one version; what is not given stays. When the memory already is as asked,
 * it succeeds without a version, whatever the precondition says. The answer has content if `withContent`.
 * Raises `invalid_request`, `precondition_failed`, `path_conflict`, `not_found`, `forbidden`.
 */
export async function updateMemory(
  world: World,
  principal: Principal,
  storeId: string,
  memoryId: string,
  change: { path: string | null; content: string | null; expectedSha256: string | null; withContent: boolean },
): Promise<MemoryRecord> {
  requireRole(principal, 'developer');
  if (change.path !== null) checkPath(change.path);
  const text = change.content === null ? null : toText(change.content);
  if (!isReference(memoryId)) throw memoryMissing(memoryId);
  const ref = refTo(principal, storeId);
  const result = await world.storage.memories.update(ref, memoryId, {
    ...authorOf(world, principal),
    versionId: world.newId('memver'),
    path: change.path,
    text,
    expectedSha256: change.expectedSha256,
  });
  switch (result.outcome) {
    case 'updated':
    case 'unchanged': {
      if (!change.withContent) return result.memory;
      if (change.content !== null) return { ...result.memory, content: change.content };
      // The version is read, not the memory: another writer may have changed that meanwhile.
      const version = await world.storage.versions.get(ref, result.memory.versionId, true);
      return { ...result.memory, content: version?.content ?? null };
    }
    case 'precondition_failed':
      throw preconditionFailed();
    case 'path_conflict':
      throw pathConflict(result);
    case 'memory_missing':
      throw memoryMissing(memoryId);
    case 'store_archived':
      throw storeArchived();
    case 'store_missing':
      throw storeMissing(storeId);
  }
}

/**
 * Deletes a memory; its versions stay for the retention period. `repeated` as in `createMemory`: a memory that this
 * caller just deleted counts as deleted by this request. Raises `precondition_failed`, `not_found`, `forbidden`.
 */
export async function deleteMemory(
  world: World,
  principal: Principal,
  storeId: string,
  memoryId: string,
  input: { expectedSha256: string | null; repeated: boolean },
): Promise<void> {
  requireRole(principal, 'developer');
  if (!isReference(memoryId)) throw memoryMissing(memoryId);
  const ref = refTo(principal, storeId);
  const { outcome } = await world.storage.memories.delete(ref, memoryId, {
    ...authorOf(world, principal),
    versionId: world.newId('memver'),
    expectedSha256: input.expectedSha256,
  });
  switch (outcome) {
    case 'deleted':
      return;
    case 'precondition_failed':
      throw preconditionFailed();
    case 'store_missing':
      throw storeMissing(storeId);
    case 'memory_missing': {
      const version = input.repeated ? await ownRecentVersion(world, principal, ref, memoryId) : null;
      if (version?.operation !== 'deleted') throw memoryMissing(memoryId);
    }
  }
}

/**
 * Lists memories in path order by bytes, `limit` entries at most, and whether more follow. `after` is the path of
 * the last entry of the page before, with its final "/" if that was a prefix. Raises `invalid_request`, `not_found`.
 */
export async function listMemories(
  world: World,
  principal: Principal,
  storeId: string,
  query: { prefix: string; depth: 0 | 1; after: string | null; limit: number; withContent: boolean },
): Promise<{ entries: MemoryListEntry[]; more: boolean }> {
  requireRole(principal, 'read_only');
  const explained = explainPathPrefix(query.prefix);
  if (explained !== null) throw invalid(`${explained}.`);
  const entries = await world.storage.memories.list(refTo(principal, storeId), {
    prefix: query.prefix,
    from: query.after === null ? query.prefix : followerOf(query.after, query.prefix),
    depth: query.depth,
    limit: query.limit + 1,
    withContent: query.withContent,
  });
  if (!entries) throw storeMissing(storeId);
  return { entries: entries.slice(0, query.limit), more: entries.length > query.limit };
}

/** The smallest text after a path, or after everything below a prefix, in byte order. */
function followerOf(after: string, prefix: string): string {
  const valid = explainPath(after.endsWith('/') ? after.slice(0, -1) : after) === null && after.startsWith(prefix);
  if (!valid) throw invalid('page belongs to a list with another path_prefix. Start again without page.');
  // "0" follows "/" in ASCII. No path holds U+0001, so nothing lies between a path and the path with it appended.
  return after.endsWith('/') ? `${after.slice(0, -1)}0` : `${after}\u0001`;
}
