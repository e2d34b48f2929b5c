// Both engines select rows of the same shape: the tables have the same columns, and keys and times arrive as numbers.
export {
  type MemoryRow,
  type StoreRow,
  toMemory,
  toStore,
  toVersion,
  type VersionRow,
} from '../rows.ts';

import { toText } from '../rows.ts';

export const STORE_COLUMNS =
  's.key, s.id, s.name, s.description, s.metadata, s.memory_count, s.created_at, s.updated_at, s.archived_at';
export const MEMORY_COLUMNS =
  'm.id, m.store_key, m.path, m.version_id, m.version_number, m.content_key, m.content_sha256, m.content_bytes, m.created_at, m.updated_at';
export const VERSION_COLUMNS =
  'v.seq, v.id, v.store_key, v.memory_id, v.version_number, v.operation, v.path, v.content_key, v.content_sha256, v.content_bytes, v.actor_type, v.actor_id, v.session_event_id, v.created_at, v.redacted_at, v.redacted_by_type, v.redacted_by_id';

/**
 * The text that a row's `content_key` leads to. Every key has one: a missing text is damage, and `verify` names it.
 * `bytes` is undefined when it was not asked for.
 */
export function contentOf(row: { content_key: number | null; bytes?: Uint8Array | null }): string | null {
  if (row.bytes === undefined || row.content_key === null) return null;
  if (row.bytes === null)
    throw new Error(`the text with key ${row.content_key} is missing from memory_contents; run "mneme verify"`);
  return toText(row.bytes);
}
