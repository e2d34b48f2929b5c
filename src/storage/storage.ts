/**
 * The typed interface that both engines implement and one suite tests. Times are milliseconds since the epoch in UTC,
 * text positions are bytes, ids are wire ids. An operation answers an outcome instead of raising for everything that
 * a caller may see; it raises a `Failure` only for `storage_full` and `unavailable`.
 *
 * Each write is one transaction: the row, its version and the count of the store change together or not at all. Every
 * rule that concurrent writers could break (paths, preconditions, the limit, the archive) is decided inside it.
 */

/** SQLite answers at once, PostgreSQL later; `await` serves both. */
export type Awaitable<T> = T | Promise<T>;

export type ActorType = 'api_actor' | 'session_actor' | 'user_actor' | 'service_account_actor';
export type Actor = { type: ActorType; id: string };
export type Role = 'admin' | 'developer' | 'read_only';
export type Operation = 'created' | 'modified' | 'deleted';

/** A store as the caller names it; a store of another workspace is a missing one. */
export type StoreRef = { workspaceId: string; storeId: string };

export type Metadata = Record<string, string>;

export type StoreRecord = {
  /** Ascends in order of creation, whatever the clock does; the list's position. */
  position: number;
  id: string;
  name: string;
  description: string;
  metadata: Metadata;
  createdAt: number;
  updatedAt: number;
  archivedAt: number | null;
};

export type MemoryRecord = {
  id: string;
  path: string;
  contentSha256: string;
  contentBytes: number;
  versionId: string;
  createdAt: number;
  updatedAt: number;
  /** Null when the text was not asked for. */
  content: string | null;
};

export type MemoryListEntry = MemoryRecord | { prefix: string };

export type VersionRecord = {
  /** Ascends in order of writing within a memory, whatever the clock does; the list's position. */
  position: number;
  id: string;
  memoryId: string;
  operation: Operation;
  path: string | null;
  contentSha256: string | null;
  contentBytes: number | null;
  actor: Actor | null;
  /** The newest event of the session that wrote this version, at that moment; null for other authors. */
  sessionEventId: string | null;
  createdAt: number;
  redactedAt: number | null;
  redactedBy: Actor | null;
  content: string | null;
};

/** The bytes of a memory's text and what is recorded about them. */
export type Text = { bytes: Buffer; sha256: string };

/** Who writes, and when; the same for each kind of write. */
export type Author = { actor: Actor; sessionEventId: string | null; now: number };

export type StoreProblem = { outcome: 'store_missing' } | { outcome: 'store_archived' };
export type PathConflict = { outcome: 'path_conflict'; memoryId: string; path: string };

export type NewStore = {
  id: string;
  workspaceId: string;
  name: string;
  description: string;
  metadata: Metadata;
  now: number;
};
export type StorePatch = {
  name?: string;
  description?: string;
  /** A null value removes the key; keys not named stay. */
  metadata?: Record<string, string | null>;
  maxMetadataPairs: number;
  now: number;
};
export type StoreQuery = {
  workspaceId: string;
  includeArchived: boolean;
  createdFrom: number | null;
  createdTo: number | null;
  /** Only stores at a smaller position; null starts at the newest. */
  before: number | null;
  limit: number;
};

export interface MemoryStores {
  create(store: NewStore): Awaitable<StoreRecord>;
  get(ref: StoreRef): Awaitable<StoreRecord | null>;
  update(
    ref: StoreRef,
    patch: StorePatch,
  ): Awaitable<{ outcome: 'updated'; store: StoreRecord } | { outcome: 'too_many_pairs' } | StoreProblem>;
  /** Newest first. */
  list(query: StoreQuery): Awaitable<StoreRecord[]>;
  /** Answers the store, archived now or before; null when it is missing. */
  archive(ref: StoreRef, now: number): Awaitable<StoreRecord | null>;
  /** The store is gone for every reader at once; `purge` removes what it held. */
  delete(ref: StoreRef, now: number): Awaitable<boolean>;
  /** Removes up to about `limit` rows of deleted stores; answers whether more remain. */
  purge(limit: number): Awaitable<boolean>;
}

export type NewMemory = Author & { memoryId: string; versionId: string; path: string; text: Text; maxMemories: number };
export type MemoryPatch = Author & {
  versionId: string;
  path: string | null;
  text: Text | null;
  /** The update applies only to a memory with this hash, unless it would change nothing. */
  expectedSha256: string | null;
};
export type MemoryRemoval = Author & { versionId: string; expectedSha256: string | null };
export type MemoryQuery = {
  /** Ends with "/"; "/" is the whole store. */
  prefix: string;
  /** Inclusive lower bound by bytes; a path below or right after the prefix. */
  from: string;
  depth: 0 | 1;
  limit: number;
  withContent: boolean;
};

export type CreateOutcome =
  | { outcome: 'created'; memory: MemoryRecord }
  | { outcome: 'store_full' }
  | PathConflict
  | StoreProblem;
export type UpdateOutcome =
  | { outcome: 'updated' | 'unchanged'; memory: MemoryRecord }
  | { outcome: 'memory_missing' | 'precondition_failed' }
  | PathConflict
  | StoreProblem;
export type DeleteOutcome = { outcome: 'deleted' | 'memory_missing' | 'precondition_failed' | 'store_missing' };

export interface Memories {
  /** Memories answered by writes carry no content; the caller has it. */
  create(ref: StoreRef, memory: NewMemory): Awaitable<CreateOutcome>;
  get(ref: StoreRef, memoryId: string, withContent: boolean): Awaitable<MemoryRecord | null>;
  update(ref: StoreRef, memoryId: string, patch: MemoryPatch): Awaitable<UpdateOutcome>;
  delete(ref: StoreRef, memoryId: string, removal: MemoryRemoval): Awaitable<DeleteOutcome>;
  /** In path order by bytes. Null when the store is missing. */
  list(ref: StoreRef, query: MemoryQuery): Awaitable<MemoryListEntry[] | null>;
}

export type VersionQuery = {
  memoryId: string | null;
  operation: Operation | null;
  actor: Actor | null;
  createdFrom: number | null;
  createdTo: number | null;
  /** Only versions at a smaller position; null starts at the newest. */
  before: number | null;
  limit: number;
  withContent: boolean;
};

export type RedactOutcome =
  | { outcome: 'redacted' | 'already_redacted'; version: VersionRecord; identicalVersionIds: string[] }
  | { outcome: 'version_missing' | 'head_of_live_memory' };

export type Retention = {
  /** Versions written before this time may go. */
  writtenBefore: number;
  /** The newest versions of a live memory that stay whatever their age; at least 1. */
  keepRecent: number;
  /** How many memories one call looks at. */
  batch: number;
};

export interface Versions {
  get(ref: StoreRef, versionId: string, withContent: boolean): Awaitable<VersionRecord | null>;
  /** Newest first. Null when the store is missing. */
  list(ref: StoreRef, query: VersionQuery): Awaitable<VersionRecord[] | null>;
  redact(ref: StoreRef, versionId: string, by: Actor, now: number): Awaitable<RedactOutcome>;
  /**
   * One step of the retention rule over live memories with an id above `afterMemoryId`, then over deleted ones.
   * Answers where to go on, null at the end, and how many versions went.
   */
  expire(rule: Retention, afterMemoryId: string | null): Awaitable<{ next: string | null; removed: number }>;
}

export type WorkspaceRecord = { id: string; name: string; createdAt: number };
export type KeyRecord = {
  id: string;
  workspaceId: string;
  name: string;
  role: Role;
  /** The end of the secret, to tell keys apart. */
  hint: string;
  userId: string | null;
  userName: string | null;
  createdAt: number;
  createdBy: string | null;
  expiresAt: number | null;
  revokedAt: number | null;
};
export type NewKey = {
  id: string;
  workspaceId: string;
  name: string;
  role: Role;
  hash: string;
  hint: string;
  /** The person whose key this is; a new user is made for a name the workspace does not have, with `id` as its id. */
  user: { id: string; name: string } | null;
  createdBy: string | null;
  expiresAt: number | null;
  now: number;
};

export interface Keys {
  createWorkspace(
    workspace: WorkspaceRecord,
  ): Awaitable<{ outcome: 'created'; workspace: WorkspaceRecord } | { outcome: 'name_taken' }>;
  listWorkspaces(): Awaitable<WorkspaceRecord[]>;
  create(key: NewKey): Awaitable<{ outcome: 'created'; key: KeyRecord } | { outcome: 'workspace_missing' }>;
  findByHash(hash: string): Awaitable<KeyRecord | null>;
  list(workspaceId: string): Awaitable<KeyRecord[]>;
  /** Refuses to revoke the last usable admin key of the default workspace, which would lock everyone out. */
  revoke(
    workspaceId: string,
    keyId: string,
    now: number,
  ): Awaitable<{ outcome: 'revoked'; key: KeyRecord } | { outcome: 'key_missing' | 'last_admin' }>;
  /**
   * Run by each start, atomically: makes the default workspace if there is none; with `fixed` makes that key (from a
   * setting) the admin key that settings gave and revokes an earlier one; without it, creates `fresh` when no admin
   * key was ever made. Answers whether `fresh` was used.
   */
  bootstrap(start: { workspace: WorkspaceRecord; fixed: NewKey | null; fresh: NewKey }): Awaitable<{
    freshUsed: boolean;
    workspace: WorkspaceRecord;
  }>;
}

/** What an operator's scrub did. */
export type ScrubResult = {
  /** Redactions and purges whose bytes are gone from the database's tables. */
  removed: number;
  /** In sentences: what this database may still hold, and what to do about it. */
  remaining: string[];
  /** In sentences: where copies may be that the database can't reach. */
  elsewhere: string[];
};

/** Rows as `verify` reads them, in one snapshot. */
export type ScannedStore = { key: number; id: string; memoryCount: number; deleted: boolean };
export type ScannedMemory = {
  storeKey: number;
  id: string;
  path: string;
  versionId: string;
  versionNumber: number;
  contentKey: number;
  contentSha256: string;
  contentBytes: number;
};
export type ScannedVersion = {
  position: number;
  id: string;
  storeKey: number;
  memoryId: string;
  versionNumber: number;
  operation: Operation;
  path: string | null;
  contentKey: number | null;
  contentSha256: string | null;
  contentBytes: number | null;
  redacted: boolean;
  /** The bytes that `contentKey` leads to, null when there are none. */
  bytes: Uint8Array | null;
};
export interface Snapshot {
  stores(): AsyncIterable<ScannedStore>;
  /** By store, then path. */
  memories(): AsyncIterable<ScannedMemory>;
  /** By position. */
  versions(): AsyncIterable<ScannedVersion>;
  deletedMemoryIds(): AsyncIterable<string>;
  /** Keys of texts that no version refers to. */
  unusedContentKeys(): AsyncIterable<number>;
  /** What the engine's own integrity check says; empty when all is well. */
  integrity(): Promise<string[]>;
  /** Redactions whose bytes may still be in dead rows or logs of the engine. */
  pendingScrubs(): Promise<number>;
}

export interface Storage {
  readonly engine: 'sqlite' | 'postgres';
  readonly stores: MemoryStores;
  readonly memories: Memories;
  readonly versions: Versions;
  readonly keys: Keys;
  /** Runs `read` over one consistent state, while others write. */
  snapshot<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /**
   * Removes what redactions and purges left in dead rows and logs, as far as the server itself can. Answers whether
   * anything remains that an operator must remove (`mneme scrub`).
   */
  scrub(): Promise<{ remaining: number }>;
  /** Raises `unavailable` when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
