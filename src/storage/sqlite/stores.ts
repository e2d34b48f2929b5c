import { patchMetadata } from '../metadata.ts';
import { STORE_COLUMNS, type StoreRow, toStore } from '../rows.ts';
import type { MemoryStores, StoreRef } from '../storage.ts';
import type { Connection } from './connection.ts';

/** What reads and writes of memories need to know of their store; undefined when it is missing or another workspace's. */
export type StoreState = { key: number; archived: boolean; memoryCount: number };

export function findState(db: Connection, ref: StoreRef): StoreState | undefined {
  const row = db
    .tuples('SELECT key, archived_at, memory_count FROM memory_stores WHERE id = ? AND workspace_id = ?')
    .get(ref.storeId, ref.workspaceId) as unknown as [number, number | null, number] | undefined;
  return row && { key: row[0], archived: row[1] !== null, memoryCount: row[2] };
}

function findStore(db: Connection, ref: StoreRef): StoreRow | undefined {
  return db
    .sql(`SELECT ${STORE_COLUMNS} FROM memory_stores WHERE id = ? AND workspace_id = ?`)
    .get(ref.storeId, ref.workspaceId) as StoreRow | undefined;
}

export function createStores(db: Connection): MemoryStores {
  const { sql, write } = db;
  return {
    create: (store) =>
      write(() => {
        const row = sql(
          `INSERT INTO memory_stores (id, workspace_id, name, description, metadata, memory_count, created_at, updated_at)
           VALUES (?, ?, ?, ?, ?, 0, ?, ?) RETURNING ${STORE_COLUMNS}`,
        ).get(
          store.id,
          store.workspaceId,
          store.name,
          store.description,
          JSON.stringify(store.metadata),
          store.now,
          store.now,
        );
        return toStore(row as StoreRow);
      }),

    get(ref) {
      db.beginReads();
      const row = findStore(db, ref);
      return row ? toStore(row) : null;
    },

    update: (ref, patch) =>
      write(() => {
        const row = findStore(db, ref);
        if (!row) return { outcome: 'store_missing' };
        if (row.archived_at !== null) return { outcome: 'store_archived' };
        const name = patch.name ?? row.name;
        const description = patch.description ?? row.description;
        const metadata = JSON.stringify(patchMetadata(JSON.parse(row.metadata), patch.metadata ?? {}));
        if (Object.keys(JSON.parse(metadata)).length > patch.maxMetadataPairs) return { outcome: 'too_many_pairs' };
        if (name === row.name && description === row.description && metadata === row.metadata)
          return { outcome: 'updated', store: toStore(row) };
        const updated = sql(
          `UPDATE memory_stores SET name = ?, description = ?, metadata = ?, updated_at = MAX(?, updated_at)
           WHERE key = ? RETURNING ${STORE_COLUMNS}`,
        ).get(name, description, metadata, patch.now, row.key);
        return { outcome: 'updated', store: toStore(updated as StoreRow) };
      }),

    list(query) {
      const conditions = ['workspace_id = ?'];
      const values: (string | number)[] = [query.workspaceId];
      const add = (condition: string, value: number | null) => {
        if (value === null) return;
        conditions.push(condition);
        values.push(value);
      };
      add('key < ?', query.before);
      add('created_at >= ?', query.createdFrom);
      add('created_at <= ?', query.createdTo);
      if (!query.includeArchived) conditions.push('archived_at IS NULL');
      const rows = sql(
        `SELECT ${STORE_COLUMNS} FROM memory_stores WHERE ${conditions.join(' AND ')} ORDER BY key DESC LIMIT ?`,
      ).all(...values, query.limit);
      return (rows as StoreRow[]).map(toStore);
    },

    archive: (ref, now) =>
      write(() => {
        const row = findStore(db, ref);
        if (!row) return null;
        if (row.archived_at !== null) return toStore(row);
        const archived = sql(
          `UPDATE memory_stores SET archived_at = MAX(?, updated_at), updated_at = MAX(?, updated_at)
           WHERE key = ? RETURNING ${STORE_COLUMNS}`,
        ).get(now, now, row.key);
        return toStore(archived as StoreRow);
      }),

    delete: (ref, now) =>
      write(() => {
        const row = findStore(db, ref);
        if (!row) return false;
        sql('DELETE FROM memory_stores WHERE key = ?').run(row.key);
        sql('INSERT INTO deleted_stores (store_key, deleted_at) VALUES (?, ?)').run(row.key, now);
        return true;
      }),

    purge: (limit) =>
      write(() => {
        const store = sql('SELECT store_key, deleted_at FROM deleted_stores LIMIT 1').get() as
          | { store_key: number; deleted_at: number }
          | undefined;
        if (!store) return false;
        const key = store.store_key;
        let left = limit;
        left -= Number(
          sql(
            'DELETE FROM memories WHERE store_key = ?1 AND path IN (SELECT path FROM memories WHERE store_key = ?1 LIMIT ?2)',
          ).run(key, left).changes,
        );
        // Texts go with the last version that refers to them; one that a copy of the store shares stays.
        const versions = sql(
          'SELECT seq, content_key FROM memory_versions WHERE store_key = ? ORDER BY seq LIMIT ?',
        ).all(key, Math.max(left, 0)) as { seq: number; content_key: number | null }[];
        for (const version of versions) {
          sql('DELETE FROM memory_versions WHERE seq = ?').run(version.seq);
          dropUnusedContent(db, version.content_key);
        }
        left -= versions.length;
        left -= Number(
          sql(
            'DELETE FROM deleted_memories WHERE id IN (SELECT id FROM deleted_memories WHERE store_key = ? LIMIT ?)',
          ).run(key, Math.max(left, 0)).changes,
        );
        if (left <= 0) return true;
        sql('DELETE FROM deleted_stores WHERE store_key = ?').run(key);
        sql('INSERT INTO pending_scrubs (requested_at) VALUES (?)').run(store.deleted_at);
        return sql('SELECT 1 FROM deleted_stores LIMIT 1').get() !== undefined;
      }),
  };
}

/** Removes a text that no version refers to any more. Call inside a write, after the version let go of it. */
export function dropUnusedContent(db: Connection, contentKey: number | null): void {
  if (contentKey === null) return;
  const used =
    db.sql('SELECT 1 FROM memory_versions WHERE seq = ?1 AND content_key = ?1').get(contentKey) ??
    db.sql('SELECT 1 FROM memory_versions WHERE content_key = ? AND content_key <> seq LIMIT 1').get(contentKey);
  if (used === undefined) db.sql('DELETE FROM memory_contents WHERE key = ?').run(contentKey);
}
