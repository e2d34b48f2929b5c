import { rangeBelow } from '../../contract/limits.ts';
import type {
  CreateOutcome,
  DeleteOutcome,
  Memories,
  MemoryListEntry,
  MemoryQuery,
  NewMemory,
  StoreRef,
} from '../storage.ts';
import { Batches } from './batches.ts';
import type { Database } from './connection.ts';
import { contentOf, MEMORY_COLUMNS, type MemoryRow, toMemory } from './rows.ts';

type WithBytes = { bytes?: Uint8Array | null };
type CreateRow = { item: number; outcome: CreateOutcome['outcome']; conflict_id: string; conflict_path: string };
type UpdateRow = MemoryRow & {
  outcome:
    | 'updated'
    | 'unchanged'
    | 'memory_missing'
    | 'precondition_failed'
    | 'path_conflict'
    | 'store_missing'
    | 'store_archived';
  conflict_id: string;
  conflict_path: string;
};
/** An entry of a list joined to its store: a store without entries gives one row of nulls, a missing one no row. */
type ListRow = ({ group: string | null } & MemoryRow & WithBytes) | { group: null; id: null };

export function createMemories(db: Database): Memories {
  const creations = new Batches<{ ref: StoreRef; memory: NewMemory }, CreateOutcome>(
    (items) => createAll(db, items),
    ({ memory }) => memory.text.bytes.length,
  );

  return {
    create: (ref, memory) => creations.add(`${ref.workspaceId}/${ref.storeId}`, { ref, memory }),

    async get(ref, memoryId, withContent) {
      const [row] = await db.read(
        (sql) => sql<(MemoryRow & WithBytes)[]>`
          SELECT ${sql.unsafe(MEMORY_COLUMNS)} ${withContent ? sql`, c.bytes` : sql``}
          FROM memories m JOIN memory_stores s ON s.key = m.store_key
          ${withContent ? sql`LEFT JOIN memory_contents c ON c.key = m.content_key` : sql``}
          WHERE m.id = ${memoryId} AND s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}`,
      );
      return row ? toMemory(row, contentOf(row)) : null;
    },

    async update(ref, memoryId, patch) {
      const [row] = await db.write(
        (sql) => sql<[UpdateRow]>`
          SELECT u.outcome, u.conflict_id, u.conflict_path, (u.memory).*
          FROM update_memory(${ref.workspaceId}, ${ref.storeId}, ${memoryId}, ${patch.versionId}, ${patch.path},
            ${patch.text?.bytes ?? null}, ${patch.text?.sha256 ?? null}, ${patch.expectedSha256}, ${patch.actor.type},
            ${patch.actor.id}, ${patch.sessionEventId}, ${patch.now}) u`,
      );
      switch (row.outcome) {
        case 'updated':
        case 'unchanged':
          return { outcome: row.outcome, memory: toMemory(row, null) };
        case 'path_conflict':
          return { outcome: row.outcome, memoryId: row.conflict_id, path: row.conflict_path };
        default:
          return { outcome: row.outcome };
      }
    },

    async delete(ref, memoryId, removal) {
      const [row] = await db.write(
        (sql) => sql<[DeleteOutcome]>`
          SELECT delete_memory(${ref.workspaceId}, ${ref.storeId}, ${memoryId}, ${removal.versionId},
            ${removal.expectedSha256}, ${removal.actor.type}, ${removal.actor.id}, ${removal.sessionEventId},
            ${removal.now}) AS outcome`,
      );
      return { outcome: row.outcome };
    },

    async list(ref, query) {
      const rows = await (query.depth === 0 ? listAll(db, ref, query) : listLevel(db, ref, query));
      if (rows.length === 0) return null;
      const entries: MemoryListEntry[] = [];
      for (const row of rows) {
        if (row.group !== null) entries.push({ prefix: row.group });
        else if (row.id !== null) entries.push(toMemory(row, contentOf(row)));
      }
      return entries;
    },
  };
}

/** Creates memories of one store in one transaction; answers in their order. */
async function createAll(db: Database, items: { ref: StoreRef; memory: NewMemory }[]): Promise<CreateOutcome[]> {
  const { ref } = items[0] as { ref: StoreRef };
  const memories = items.map((item) => item.memory);
  const rows = await db.write(
    (sql) => sql<CreateRow[]>`
      SELECT * FROM create_memories(${ref.workspaceId}, ${ref.storeId}, ${memories.map((m) => m.memoryId)},
        ${memories.map((m) => m.versionId)}, ${memories.map((m) => m.path)},
        ${sql.array(memories.map((m) => m.text.bytes))}, ${memories.map((m) => m.text.sha256)},
        ${memories.map((m) => m.actor.type)}, ${memories.map((m) => m.actor.id)},
        ${memories.map((m) => m.sessionEventId)}, ${memories.map((m) => m.now)}, ${memories.map((m) => m.maxMemories)})
      ORDER BY item`,
  );
  return rows.map((row, index) => {
    const memory = memories[index] as NewMemory;
    if (row.outcome === 'path_conflict')
      return { outcome: row.outcome, memoryId: row.conflict_id, path: row.conflict_path };
    if (row.outcome !== 'created') return { outcome: row.outcome };
    return {
      outcome: row.outcome,
      memory: {
        id: memory.memoryId,
        path: memory.path,
        contentSha256: memory.text.sha256,
        contentBytes: memory.text.bytes.length,
        versionId: memory.versionId,
        createdAt: memory.now,
        updatedAt: memory.now,
        content: null,
      },
    };
  });
}

function listAll(db: Database, ref: StoreRef, query: MemoryQuery): Promise<ListRow[]> {
  const { to } = rangeBelow(query.prefix);
  return db.read(
    (sql) => sql<ListRow[]>`
      SELECT NULL AS group, ${sql.unsafe(MEMORY_COLUMNS)} ${query.withContent ? sql`, c.bytes` : sql``}
      FROM memory_stores s
      LEFT JOIN LATERAL (
        SELECT m.* FROM memories m WHERE m.store_key = s.key AND m.path >= ${query.from} AND m.path < ${to}
        ORDER BY m.path LIMIT ${query.limit}
      ) m ON true
      ${query.withContent ? sql`LEFT JOIN memory_contents c ON c.key = m.content_key` : sql``}
      WHERE s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}
      ORDER BY m.path`,
  );
}

/** Each step of the walk is one probe of the index, for the first path after the last entry and all that is below it. */
function listLevel(db: Database, ref: StoreRef, query: MemoryQuery): Promise<ListRow[]> {
  const { to } = rangeBelow(query.prefix);
  return db.read((sql) => {
    const groupOf = sql`CASE WHEN strpos(substr(m.path, char_length(${query.prefix}) + 1), '/') > 0 THEN left(m.path,
      char_length(${query.prefix}) + strpos(substr(m.path, char_length(${query.prefix}) + 1), '/')) END`;
    return sql<ListRow[]>`
      WITH RECURSIVE store AS (
        SELECT s.key FROM memory_stores s WHERE s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}
      ), walk (n, path, "group") AS (
        SELECT 1, m.path, ${groupOf} FROM store CROSS JOIN LATERAL (
          SELECT m.path FROM memories m WHERE m.store_key = store.key AND m.path >= ${query.from} AND m.path < ${to}
          ORDER BY m.path LIMIT 1
        ) m
        UNION ALL
        SELECT walk.n + 1, m.path, ${groupOf} FROM walk CROSS JOIN store CROSS JOIN LATERAL (
          SELECT m.path FROM memories m WHERE m.store_key = store.key AND m.path < ${to}
            -- "0" follows "/" in ASCII, and no path holds U+0001.
            AND m.path >= CASE WHEN walk."group" IS NULL THEN walk.path || chr(1) ELSE left(walk."group", -1) || '0' END
          ORDER BY m.path LIMIT 1
        ) m WHERE walk.n < ${query.limit}
      )
      SELECT walk."group", ${sql.unsafe(MEMORY_COLUMNS)} ${query.withContent ? sql`, c.bytes` : sql``}
      FROM store
      LEFT JOIN walk ON true
      LEFT JOIN memories m ON m.store_key = store.key AND m.path = walk.path AND walk."group" IS NULL
      ${query.withContent ? sql`LEFT JOIN memory_contents c ON c.key = m.content_key` : sql``}
      ORDER BY walk.n`;
  });
}
