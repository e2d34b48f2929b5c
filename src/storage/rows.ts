import type {
  Actor,
  ActorType,
  KeyRecord,
  MemoryRecord,
  Operation,
  StoreRecord,
  VersionRecord,
  WorkspaceRecord,
} from './storage.ts';

/** Rows as the statements of both engines select them. */
export type StoreRow = {
  key: number;
  id: string;
  name: string;
  description: string;
  metadata: string;
  memory_count: number;
  created_at: number;
  updated_at: number;
  archived_at: number | null;
};

export type MemoryRow = {
  id: string;
  store_key: number;
  path: string;
  version_id: string;
  version_number: number;
  content_key: number;
  content_sha256: string;
  content_bytes: number;
  created_at: number;
  updated_at: number;
};

export type VersionRow = {
  seq: number;
  id: string;
  store_key: number;
  memory_id: string;
  version_number: number;
  operation: Operation;
  path: string | null;
  content_key: number | null;
  content_sha256: string | null;
  content_bytes: number | null;
  actor_type: ActorType | null;
  actor_id: string | null;
  session_event_id: string | null;
  created_at: number;
  redacted_at: number | null;
  redacted_by_type: ActorType | null;
  redacted_by_id: string | null;
};

export const STORE_COLUMNS = 'key, id, name, description, metadata, memory_count, created_at, updated_at, archived_at';
export const MEMORY_COLUMNS =
  'id, store_key, path, version_id, version_number, content_key, content_sha256, content_bytes, created_at, updated_at';
export const VERSION_COLUMNS =
  'seq, id, store_key, memory_id, version_number, operation, path, content_key, content_sha256, content_bytes, actor_type, actor_id, session_event_id, created_at, redacted_at, redacted_by_type, redacted_by_id';

type MemoryTuple = [string, number, string, string, number, number, string, number, number, number];

/** A memory's row from a tuple of `MEMORY_COLUMNS`. */
export function toMemoryRow(tuple: unknown): MemoryRow {
  const row = tuple as MemoryTuple;
  return {
    id: row[0],
    store_key: row[1],
    path: row[2],
    version_id: row[3],
    version_number: row[4],
    content_key: row[5],
    content_sha256: row[6],
    content_bytes: row[7],
    created_at: row[8],
    updated_at: row[9],
  };
}

export function toStore(row: StoreRow): StoreRecord {
  return {
    position: row.key,
    id: row.id,
    name: row.name,
    description: row.description,
    metadata: JSON.parse(row.metadata),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
  };
}

export function toMemory(row: MemoryRow, content: string | null): MemoryRecord {
  return {
    id: row.id,
    path: row.path,
    contentSha256: row.content_sha256,
    contentBytes: row.content_bytes,
    versionId: row.version_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    content,
  };
}

function toActor(type: ActorType | null, id: string | null): Actor | null {
  return type === null || id === null ? null : { type, id };
}

export function toVersion(row: VersionRow, content: string | null): VersionRecord {
  return {
    position: row.seq,
    id: row.id,
    memoryId: row.memory_id,
    operation: row.operation,
    path: row.path,
    contentSha256: row.content_sha256,
    contentBytes: row.content_bytes,
    actor: toActor(row.actor_type, row.actor_id),
    sessionEventId: row.session_event_id,
    createdAt: row.created_at,
    redactedAt: row.redacted_at,
    redactedBy: toActor(row.redacted_by_type, row.redacted_by_id),
    content,
  };
}

export type KeyRow = {
  id: string;
  workspace_id: string;
  name: string;
  role: KeyRecord['role'];
  hint: string;
  user_id: string | null;
  user_name: string | null;
  created_at: number;
  created_by: string | null;
  expires_at: number | null;
  revoked_at: number | null;
};

export const SELECT_KEYS = `SELECT k.id, k.workspace_id, k.name, k.role, k.hint, k.user_id, u.name AS user_name, k.created_at,
  k.created_by, k.expires_at, k.revoked_at FROM api_keys k LEFT JOIN users u ON u.id = k.user_id`;

export function toKey(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    role: row.role,
    hint: row.hint,
    userId: row.user_id,
    userName: row.user_name,
    createdAt: row.created_at,
    createdBy: row.created_by,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

export type WorkspaceRow = { id: string; name: string; created_at: number };

export function toWorkspace(row: WorkspaceRow): WorkspaceRecord {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}

/** The text of stored bytes, byte for byte: a byte order mark at the front stays. */
export function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
