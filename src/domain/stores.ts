import { type Failure, invalid, notFound } from '../contract/errors.ts';
import { isReference } from '../contract/ids.ts';
import { explainDescription, explainMetadataEntry, explainStoreName, LIMITS } from '../contract/limits.ts';
import type { Metadata, StoreRecord, StoreRef } from '../storage/storage.ts';
import { type Principal, requireRole } from './access.ts';
import type { World } from './world.ts';

export function refTo(principal: Principal, storeId: string): StoreRef {
  if (!isReference(storeId)) throw storeMissing(storeId);
  return { workspaceId: principal.workspaceId, storeId };
}

export function storeMissing(storeId: string): Failure {
  return notFound('Memory store', storeId);
}

export function storeArchived(): Failure {
  return invalid(
    'The memory store is archived: it can be read, and its memories can be deleted, but not changed. Create a new store for new memories.',
  );
}

function refuse(explained: string | null): void {
  if (explained !== null) throw invalid(`${explained}.`);
}

function tooManyPairs(): Failure {
  return invalid(`metadata would hold more than ${LIMITS.metadataPairs} pairs. Remove some with a null value.`);
}

/**
 * Creates a store in the caller's workspace. Texts in Unicode; limits in `LIMITS`.
 * Raises `invalid_request`, `forbidden`.
 */
export async function createStore(
  world: World,
  principal: Principal,
  input: { name: string; description: string; metadata: Metadata },
): Promise<StoreRecord> {
  requireRole(principal, 'developer');
  refuse(explainStoreName(input.name));
  refuse(explainDescription(input.description));
  const entries = Object.entries(input.metadata);
  for (const [key, value] of entries) refuse(explainMetadataEntry(key, value));
  if (entries.length > LIMITS.metadataPairs) throw tooManyPairs();
  return world.storage.stores.create({
    ...input,
    id: world.newId('memstore'),
    workspaceId: principal.workspaceId,
    now: world.now(),
  });
}

/** Raises `not_found`. */
export async function retrieveStore(world: World, principal: Principal, storeId: string): Promise<StoreRecord> {
  requireRole(principal, 'read_only');
  const store = await world.storage.stores.get(refTo(principal, storeId));
  if (!store) throw storeMissing(storeId);
  return store;
}

/**
 * Changes what is given; a metadata value of null removes its key. A change that changes nothing leaves `updatedAt`.
 * Raises `not_found`, `invalid_request` (limits; an archived store), `forbidden`.
 */
export async function updateStore(
  world: World,
  principal: Principal,
  storeId: string,
  patch: { name?: string; description?: string; metadata?: Record<string, string | null> },
): Promise<StoreRecord> {
  requireRole(principal, 'developer');
  if (patch.name !== undefined) refuse(explainStoreName(patch.name));
  if (patch.description !== undefined) refuse(explainDescription(patch.description));
  for (const [key, value] of Object.entries(patch.metadata ?? {})) refuse(explainMetadataEntry(key, value));
  const result = await world.storage.stores.update(refTo(principal, storeId), {
    ...patch,
    maxMetadataPairs: LIMITS.metadataPairs,
    now: world.now(),
  });
  switch (result.outcome) {
    case 'updated':
      return result.store;
    case 'too_many_pairs':
      throw tooManyPairs();
    case 'store_archived':
      throw storeArchived();
    case 'store_missing':
      throw storeMissing(storeId);
  }
}

/** Newest first; `limit` stores at most, and whether more follow. Times in milliseconds, inclusive. */
export async function listStores(
  world: World,
  principal: Principal,
  query: {
    includeArchived: boolean;
    createdFrom: number | null;
    createdTo: number | null;
    before: number | null;
    limit: number;
  },
): Promise<{ stores: StoreRecord[]; more: boolean }> {
  requireRole(principal, 'read_only');
  const stores = await world.storage.stores.list({
    ...query,
    workspaceId: principal.workspaceId,
    limit: query.limit + 1,
  });
  return { stores: stores.slice(0, query.limit), more: stores.length > query.limit };
}

/** Makes a store read-only for good; a second time is a no-op. Raises `not_found`, `forbidden`. */
export async function archiveStore(world: World, principal: Principal, storeId: string): Promise<StoreRecord> {
  requireRole(principal, 'developer');
  const store = await world.storage.stores.archive(refTo(principal, storeId), world.now());
  if (!store) throw storeMissing(storeId);
  return store;
}

/** Deletes a store with its memories and versions, for good. Raises `not_found`, `forbidden`. */
export async function deleteStore(world: World, principal: Principal, storeId: string): Promise<void> {
  requireRole(principal, 'developer');
  if (!(await world.storage.stores.delete(refTo(principal, storeId), world.now()))) throw storeMissing(storeId);
  void world.sweepSoon();
}
