import { patchMetadata } from '../metadata.ts';
import type { MemoryStores, StoreRef } from '../storage.ts';
import type { Database } from './connection.ts';
import { STORE_COLUMNS, type StoreRow, toStore } from './rows.ts';

/** The store's row, or undefined when it is missing or another workspace's. */
async function findStore(db: Database, ref: StoreRef): Promise<StoreRow | undefined> {
  const [row] = await db.read(
    (sql) => sql<StoreRow[]>`
      SELECT ${sql.unsafe(STORE_COLUMNS)} FROM memory_stores s
      WHERE s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}`,
  );
  return row;
}

export function createStores(db: Database): MemoryStores {
  return {
    async create(store) {
      const [row] = await db.write(
        (sql) => sql<[StoreRow]>`
          INSERT INTO memory_stores AS s (id, workspace_id, name, description, metadata, memory_count, created_at,
            updated_at)
          VALUES (${store.id}, ${store.workspaceId}, ${store.name}, ${store.description},
            ${JSON.stringify(store.metadata)}, 0, ${store.now}, ${store.now})
          RETURNING ${sql.unsafe(STORE_COLUMNS)}`,
      );
      return toStore(row);
    },

    async get(ref) {
      const row = await findStore(db, ref);
      return row ? toStore(row) : null;
    },

    async update(ref, patch) {
      // The patch of the metadata is applied here, so the update names what it was applied to, and starts over when
      // another one came first.
      for (;;) {
        const row = await findStore(db, ref);
        if (!row) return { outcome: 'store_missing' };
        if (row.archived_at !== null) return { outcome: 'store_archived' };
        const name = patch.name ?? row.name;
        const description = patch.description ?? row.description;
        const patched = patchMetadata(JSON.parse(row.metadata), patch.metadata ?? {});
        const metadata = JSON.stringify(patched);
        if (Object.keys(patched).length > patch.maxMetadataPairs) return { outcome: 'too_many_pairs' };
        if (name === row.name && description === row.description && metadata === row.metadata)
          return { outcome: 'updated', store: toStore(row) };
        const [updated] = await db.write(
          (sql) => sql<StoreRow[]>`
            UPDATE memory_stores s SET name = ${name}, description = ${description}, metadata = ${metadata},
              updated_at = greatest(${patch.now}, s.updated_at)
            WHERE s.key = ${row.key} AND s.archived_at IS NULL AND s.name = ${row.name}
              AND s.description = ${row.description} AND s.metadata = ${row.metadata}
            RETURNING ${sql.unsafe(STORE_COLUMNS)}`,
        );
        if (updated) return { outcome: 'updated', store: toStore(updated) };
      }
    },

    async list(query) {
      const rows = await db.read(
        (sql) => sql<StoreRow[]>`
          SELECT ${sql.unsafe(STORE_COLUMNS)} FROM memory_stores s WHERE s.workspace_id = ${query.workspaceId}
          ${query.before === null ? sql`` : sql`AND s.key < ${query.before}`}
          ${query.createdFrom === null ? sql`` : sql`AND s.created_at >= ${query.createdFrom}`}
          ${query.createdTo === null ? sql`` : sql`AND s.created_at <= ${query.createdTo}`}
          ${query.includeArchived ? sql`` : sql`AND s.archived_at IS NULL`}
          ORDER BY s.key DESC LIMIT ${query.limit}`,
      );
      return rows.map(toStore);
    },

    async archive(ref, now) {
      const [row] = await db.write(
        (sql) => sql<StoreRow[]>`
          SELECT ${sql.unsafe(STORE_COLUMNS)} FROM archive_store(${ref.workspaceId}, ${ref.storeId}, ${now}) s`,
      );
      return row ? toStore(row) : null;
    },

    async delete(ref, now) {
      const [row] = await db.write(
        (sql) => sql<[{ deleted: boolean }]>`
          SELECT delete_store(${ref.workspaceId}, ${ref.storeId}, ${now}) AS deleted`,
      );
      return row.deleted;
    },

    async purge(limit) {
      const [row] = await db.write((sql) => sql<[{ more: boolean }]>`SELECT purge_stores(${limit}) AS more`);
      return row.more;
    },
  };
}
