import { invalid, notFound } from '../contract/errors.ts';
import { isReference } from '../contract/ids.ts';
import type { Actor, Operation, VersionRecord } from '../storage/storage.ts';
import { type Principal, requireRole } from './access.ts';
import { refTo, storeMissing } from './stores.ts';
import type { World } from './world.ts';

/** Raises `not_found`. */
export async function retrieveVersion(
  world: World,
  principal: Principal,
  storeId: string,
  versionId: string,
  withContent: boolean,
): Promise<VersionRecord> {
  requireRole(principal, 'read_only');
  const version = isReference(versionId)
    ? await world.storage.versions.get(refTo(principal, storeId), versionId, withContent)
    : null;
  if (!version) throw notFound('Memory version', versionId);
  return version;
}

export type VersionFilters = {
  memoryId: string | null;
  operation: Operation | null;
  /** A version has one author, so several of these at once match nothing. */
  actors: Actor[];
  createdFrom: number | null;
  createdTo: number | null;
  before: number | null;
  limit: number;
  withContent: boolean;
};

/** Newest first by the order of writing, `limit` versions at most. Raises `invalid_request`, `not_found`. */
export async function listVersions(
  world: World,
  principal: Principal,
  storeId: string,
  filters: VersionFilters,
): Promise<{ versions: VersionRecord[]; more: boolean }> {
  requireRole(principal, 'read_only');
  const { actors, ...query } = filters;
  for (const id of [query.memoryId, ...actors.map((actor) => actor.id)])
    if (id !== null && !isReference(id)) throw invalid('A filter is not an id. Pass ids as the API returned them.');
  const versions = await world.storage.versions.list(refTo(principal, storeId), {
    ...query,
    actor: actors[0] ?? null,
    limit: actors.length > 1 ? 0 : query.limit + 1,
  });
  if (!versions) throw storeMissing(storeId);
  return { versions: versions.slice(0, query.limit), more: versions.length > query.limit };
}

/**
 * Removes text, path, size and hash of a version for good; a second time is a no-op. Answers the version and the ids
 * of versions of the store that still hold the same text. Raises `invalid_request` for the current version of a live
 * memory, `not_found`, `forbidden`.
 */
export async function redactVersion(
  world: World,
  principal: Principal,
  storeId: string,
  versionId: string,
): Promise<{ version: VersionRecord; identicalVersionIds: string[] }> {
  requireRole(principal, 'developer');
  if (!isReference(versionId)) throw notFound('Memory version', versionId);
  const result = await world.storage.versions.redact(
    refTo(principal, storeId),
    versionId,
    principal.actor,
    world.now(),
  );
  switch (result.outcome) {
    case 'redacted':
    case 'already_redacted':
      // The sweeper would get there by itself; the answer waits for it so that "redacted" means gone.
      await world.sweepSoon();
      return result;
    case 'head_of_live_memory':
      throw invalid(
        'The version is the current one of a live memory. Write a new version or delete the memory first, then redact this one.',
      );
    case 'version_missing':
      throw notFound('Memory version', versionId);
  }
}
