import { ancestorsOf, rangeBelow } from '../../contract/limits.ts';
import { MEMORY_COLUMNS, type MemoryRow, toMemory, toMemoryRow } from '../rows.ts';
import type { Author, Memories, MemoryListEntry, Operation, PathConflict, StoreProblem, StoreRef } from '../storage.ts';
import type { Connection } from './connection.ts';
import { findState, type StoreState } from './stores.ts';

/** The text behind a key. Every live memory has one: a missing row is damage, and `verify` names it. */
export function readContent(db: Connection, contentKey: number): string {
  // As text, byte for byte (U+0000 and a leading byte order mark included): cheaper than copying the bytes out first.
  const row = db.tuples('SELECT CAST(bytes AS TEXT) FROM memory_contents WHERE key = ?').get(contentKey) as unknown as
    | [string]
    | undefined;
  if (!row) throw new Error(`the text with key ${contentKey} is missing from memory_contents; run "mneme verify"`);
  return row[0];
}

function findMemory(db: Connection, storeKey: number, memoryId: string): MemoryRow | undefined {
  const tuple = db.tuples(`SELECT ${MEMORY_COLUMNS} FROM memories WHERE id = ?`).get(memoryId);
  const row = tuple && toMemoryRow(tuple);
  return row?.store_key === storeKey ? row : undefined;
}

/** The store that a create or a change may go to. */
function writableStore(db: Connection, ref: StoreRef): StoreState | StoreProblem {
  const store = findState(db, ref);
  if (!store) return { outcome: 'store_missing' };
  return store.archived ? { outcome: 'store_archived' } : store;
}

/** A memory at the path, at an ancestor or below it, other than `exceptId`. */
function findConflict(db: Connection, storeKey: number, path: string, exceptId: string): PathConflict | null {
  const at = db.tuples('SELECT id, path FROM memories WHERE store_key = ? AND path = ?');
  for (const candidate of [path, ...ancestorsOf(path)]) {
    const row = at.get(storeKey, candidate) as unknown as [string, string] | undefined;
    if (row && row[0] !== exceptId) return { outcome: 'path_conflict', memoryId: row[0], path: row[1] };
  }
  const { from, to } = rangeBelow(`${path}/`);
  // Two, since one of them may be the memory that is being moved up.
  const below = db.tuples('SELECT id, path FROM memories WHERE store_key = ? AND path >= ? AND path < ? LIMIT 2');
  for (const row of below.all(storeKey, from, to) as unknown as [string, string][])
    if (row[0] !== exceptId) return { outcome: 'path_conflict', memoryId: row[0], path: row[1] };
  return null;
}

type NewVersion = {
  id: string;
  storeKey: number;
  memoryId: string;
  number: number;
  operation: Operation;
  path: string;
  author: Author;
  createdAt: number;
  /** New bytes, or the key of the text that the version shares, or null for a deletion. */
  content: { bytes: Buffer; sha256: string } | { key: number; sha256: string; size: number } | null;
};

/** Writes a version and its text; answers the key of the text. */
function insertVersion(db: Connection, version: NewVersion): number | null {
  const { content, author } = version;
  // The next of AUTOINCREMENT, which never comes back even when the newest version is removed.
  const last = db.tuples("SELECT seq FROM sqlite_sequence WHERE name = 'memory_versions'").get() as unknown as
    | [number]
    | undefined;
  const seq = (last?.[0] ?? 0) + 1;
  const brings = content !== null && 'bytes' in content;
  const key = brings ? seq : (content?.key ?? null);
  db.sql(
    `INSERT INTO memory_versions (seq, id, store_key, memory_id, version_number, operation, path, content_key,
       content_sha256, content_bytes, actor_type, actor_id, session_event_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    seq,
    version.id,
    version.storeKey,
    version.memoryId,
    version.number,
    version.operation,
    version.path,
    key,
    content?.sha256 ?? null,
    content === null ? null : brings ? content.bytes.length : content.size,
    author.actor.type,
    author.actor.id,
    author.sessionEventId,
    version.createdAt,
  );
  if (brings) db.sql('INSERT INTO memory_contents (key, bytes) VALUES (?, ?)').run(seq, content.bytes);
  return key;
}

export function createMemories(db: Connection): Memories {
  const { sql, write } = db;
  return {
    create: (ref, memory) =>
      write(() => {
        const store = writableStore(db, ref);
        if ('outcome' in store) return store;
        const conflict = findConflict(db, store.key, memory.path, '');
        if (conflict) return conflict;
        if (store.memoryCount >= memory.maxMemories) return { outcome: 'store_full' };
        const key = insertVersion(db, {
          id: memory.versionId,
          storeKey: store.key,
          memoryId: memory.memoryId,
          number: 1,
          operation: 'created',
          path: memory.path,
          author: memory,
          createdAt: memory.now,
          content: memory.text,
        }) as number;
        const row: MemoryRow = {
          id: memory.memoryId,
          store_key: store.key,
          path: memory.path,
          version_id: memory.versionId,
          version_number: 1,
          content_key: key,
          content_sha256: memory.text.sha256,
          content_bytes: memory.text.bytes.length,
          created_at: memory.now,
          updated_at: memory.now,
        };
        insertMemory(db, row);
        sql('UPDATE memory_stores SET memory_count = memory_count + 1 WHERE key = ?').run(store.key);
        return { outcome: 'created', memory: toMemory(row, null) };
      }),

    get(ref, memoryId, withContent) {
      db.beginReads();
      const store = findState(db, ref);
      const row = store && findMemory(db, store.key, memoryId);
      return row ? toMemory(row, withContent ? readContent(db, row.content_key) : null) : null;
    },

    update: (ref, memoryId, patch) =>
      write(() => {
        const store = writableStore(db, ref);
        if ('outcome' in store) return store;
        const row = findMemory(db, store.key, memoryId);
        if (!row) return { outcome: 'memory_missing' };
        const path = patch.path ?? row.path;
        const sha256 = patch.text?.sha256 ?? row.content_sha256;
        if (path === row.path && sha256 === row.content_sha256)
          return { outcome: 'unchanged', memory: toMemory(row, null) };
        if (patch.expectedSha256 !== null && patch.expectedSha256 !== row.content_sha256)
          return { outcome: 'precondition_failed' };
        const conflict = path === row.path ? null : findConflict(db, store.key, path, row.id);
        if (conflict) return conflict;
        const changed = patch.text !== null && sha256 !== row.content_sha256 ? patch.text : null;
        // The memory's own times never run backwards, even when the clock does.
        const updatedAt = Math.max(patch.now, row.updated_at);
        const key = insertVersion(db, {
          id: patch.versionId,
          storeKey: store.key,
          memoryId,
          number: row.version_number + 1,
          operation: 'modified',
          path,
          author: patch,
          createdAt: updatedAt,
          content: changed ?? { key: row.content_key, sha256: row.content_sha256, size: row.content_bytes },
        }) as number;
        const next: MemoryRow = {
          ...row,
          path,
          version_id: patch.versionId,
          version_number: row.version_number + 1,
          content_key: key,
          content_sha256: sha256,
          content_bytes: changed ? changed.bytes.length : row.content_bytes,
          updated_at: updatedAt,
        };
        replaceMemory(db, row, next);
        return { outcome: 'updated', memory: toMemory(next, null) };
      }),

    delete: (ref, memoryId, removal) =>
      write(() => {
        const store = findState(db, ref);
        if (!store) return { outcome: 'store_missing' };
        const row = findMemory(db, store.key, memoryId);
        if (!row) return { outcome: 'memory_missing' };
        if (removal.expectedSha256 !== null && removal.expectedSha256 !== row.content_sha256)
          return { outcome: 'precondition_failed' };
        const deletedAt = Math.max(removal.now, row.updated_at);
        insertVersion(db, {
          id: removal.versionId,
          storeKey: store.key,
          memoryId,
          number: row.version_number + 1,
          operation: 'deleted',
          path: row.path,
          author: removal,
          createdAt: deletedAt,
          content: null,
        });
        sql('DELETE FROM memories WHERE store_key = ? AND path = ?').run(store.key, row.path);
        sql('INSERT INTO deleted_memories (id, store_key, deleted_at) VALUES (?, ?, ?)').run(
          memoryId,
          store.key,
          deletedAt,
        );
        sql('UPDATE memory_stores SET memory_count = memory_count - 1 WHERE key = ?').run(store.key);
        return { outcome: 'deleted' };
      }),

    list(ref, query) {
      db.beginReads();
      const store = findState(db, ref);
      if (!store) return null;
      const { to } = rangeBelow(query.prefix);
      const page = db.tuples(
        `SELECT ${MEMORY_COLUMNS} FROM memories WHERE store_key = ? AND path >= ? AND path < ? ORDER BY path LIMIT ?`,
      );
      const show = (row: MemoryRow) => toMemory(row, query.withContent ? readContent(db, row.content_key) : null);
      const read = (from: string) => page.all(store.key, from, to, query.limit).map(toMemoryRow);
      if (query.depth === 0) return read(query.from).map(show);

      const entries: MemoryListEntry[] = [];
      let from = query.from;
      while (entries.length < query.limit) {
        const rows = read(from);
        let group = '';
        for (const row of rows) {
          if (group !== '' && row.path.startsWith(group)) continue;
          if (entries.length === query.limit) break;
          const slash = row.path.indexOf('/', query.prefix.length);
          group = slash === -1 ? '' : row.path.slice(0, slash + 1);
          entries.push(group === '' ? show(row) : { prefix: group });
        }
        if (rows.length < query.limit) break;
        // Jump over the rest of a group that the page ended in: the tree finds its end, however many it holds.
        from = group === '' ? `${rows[rows.length - 1]?.path}\u0001` : rangeBelow(group).to;
      }
      return entries;
    },
  };
}

function insertMemory(db: Connection, row: MemoryRow): void {
  db.sql(`INSERT INTO memories (${MEMORY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
    row.id,
    row.store_key,
    row.path,
    row.version_id,
    row.version_number,
    row.content_key,
    row.content_sha256,
    row.content_bytes,
    row.created_at,
    row.updated_at,
  );
}

/** Updates in place, or moves the row when its path, by which it is clustered, changes. */
function replaceMemory(db: Connection, before: MemoryRow, after: MemoryRow): void {
  if (before.path !== after.path) {
    db.sql('DELETE FROM memories WHERE store_key = ? AND path = ?').run(before.store_key, before.path);
    insertMemory(db, after);
    return;
  }
  db.sql(
    `UPDATE memories SET version_id = ?, version_number = ?, content_key = ?, content_sha256 = ?, content_bytes = ?,
       updated_at = ? WHERE store_key = ? AND path = ?`,
  ).run(
    after.version_id,
    after.version_number,
    after.content_key,
    after.content_sha256,
    after.content_bytes,
    after.updated_at,
    after.store_key,
    after.path,
  );
}
