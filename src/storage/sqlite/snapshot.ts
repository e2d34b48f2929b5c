import type { DatabaseSync } from 'node:sqlite';
import type { ScannedMemory, ScannedStore, ScannedVersion, Snapshot } from '../storage.ts';

/** Yields to the event loop after this many rows, so that a scan beside a running server never holds it up. */
const CHUNK = 500;

async function* inChunks<Row, Item>(rows: Iterable<unknown>, show: (row: Row) => Item): AsyncIterable<Item> {
  let count = 0;
  for (const row of rows) {
    yield show(row as Row);
    if (++count % CHUNK === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Reads over a connection of its own, inside a transaction that the caller opened. */
export function createSnapshot(db: DatabaseSync): Snapshot {
  return {
    stores: () =>
      inChunks(
        db
          .prepare(
            `SELECT key, id, memory_count AS memoryCount, 0 AS deleted FROM memory_stores
             UNION ALL SELECT store_key, '', 0, 1 FROM deleted_stores`,
          )
          .iterate(),
        (row: Omit<ScannedStore, 'deleted'> & { deleted: number }) => ({ ...row, deleted: row.deleted === 1 }),
      ),
    memories: () =>
      inChunks(
        db
          .prepare(
            `SELECT store_key AS storeKey, id, path, version_id AS versionId, version_number AS versionNumber,
               content_key AS contentKey, content_sha256 AS contentSha256, content_bytes AS contentBytes
             FROM memories ORDER BY store_key, path`,
          )
          .iterate(),
        (row: ScannedMemory) => ({ ...row }),
      ),
    versions: () =>
      inChunks(
        db
          .prepare(
            `SELECT v.seq AS position, v.id, v.store_key AS storeKey, v.memory_id AS memoryId,
               v.version_number AS versionNumber, v.operation, v.path, v.content_key AS contentKey,
               v.content_sha256 AS contentSha256, v.content_bytes AS contentBytes,
               v.redacted_at IS NOT NULL AS redacted, c.bytes
             FROM memory_versions v LEFT JOIN memory_contents c ON c.key = v.content_key ORDER BY v.seq`,
          )
          .iterate(),
        (row: Omit<ScannedVersion, 'redacted'> & { redacted: number }) => ({ ...row, redacted: row.redacted === 1 }),
      ),
    deletedMemoryIds: () =>
      inChunks(db.prepare('SELECT id FROM deleted_memories').iterate(), (row: { id: string }) => row.id),
    unusedContentKeys: () =>
      inChunks(
        db
          .prepare(
            `SELECT key FROM memory_contents c
             WHERE NOT EXISTS (SELECT 1 FROM memory_versions v WHERE v.seq = c.key AND v.content_key = c.key)
               AND NOT EXISTS (SELECT 1 FROM memory_versions v WHERE v.content_key = c.key AND v.content_key <> v.seq)`,
          )
          .iterate(),
        (row: { key: number }) => row.key,
      ),
    integrity: async () =>
      (db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[])
        .map((row) => row.integrity_check)
        .filter((line) => line !== 'ok'),
    pendingScrubs: async () =>
      Number((db.prepare('SELECT count(*) AS n FROM pending_scrubs').get() as { n: number }).n),
  };
}
