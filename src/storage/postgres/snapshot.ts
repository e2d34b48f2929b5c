import type { ScannedMemory, ScannedStore, ScannedVersion, Snapshot } from '../storage.ts';
import type { Session } from './connection.ts';

const CHUNK = 500;
// Texts have up to 100 kB, twice that on the wire.
const CHUNK_WITH_TEXT = 50;

/** Reads over a session whose transaction the caller opened. */
export function createSnapshot(session: Session): Snapshot {
  let cursors = 0;

  /**
   * The rows of a query, some at a time. A cursor of the database rather than the client's: that one occupies the
   * connection until its end, so that a second scan begun meanwhile would wait for ever.
   */
  async function* scan<Row>(query: string, chunk = CHUNK): AsyncIterable<Row> {
    const name = `scan_${++cursors}`;
    await session.run((sql) => sql.unsafe(`DECLARE ${name} NO SCROLL CURSOR FOR ${query}`));
    for (;;) {
      const rows = await session.run((sql) => sql.unsafe<Row[] & object[]>(`FETCH ${chunk} FROM ${name}`));
      yield* rows;
      if (rows.length < chunk) break;
    }
    await session.run((sql) => sql.unsafe(`CLOSE ${name}`));
  }

  async function* column<Value>(query: string): AsyncIterable<Value> {
    for await (const row of scan<{ value: Value }>(query)) yield row.value;
  }

  return {
    stores: () =>
      scan<ScannedStore>(
        `SELECT key, id, memory_count AS "memoryCount", false AS deleted FROM memory_stores
         UNION ALL SELECT store_key, '', 0, true FROM deleted_stores`,
      ),
    memories: () =>
      scan<ScannedMemory>(
        `SELECT store_key AS "storeKey", id, path, version_id AS "versionId", version_number AS "versionNumber",
           content_key AS "contentKey", content_sha256 AS "contentSha256", content_bytes AS "contentBytes"
         FROM memories ORDER BY store_key, path`,
      ),
    versions: () =>
      scan<ScannedVersion>(
        `SELECT v.seq AS position, v.id, v.store_key AS "storeKey", v.memory_id AS "memoryId",
           v.version_number AS "versionNumber", v.operation, v.path, v.content_key AS "contentKey",
           v.content_sha256 AS "contentSha256", v.content_bytes AS "contentBytes",
           v.redacted_at IS NOT NULL AS redacted, c.bytes
         FROM memory_versions v LEFT JOIN memory_contents c ON c.key = v.content_key ORDER BY v.seq`,
        CHUNK_WITH_TEXT,
      ),
    deletedMemoryIds: () => column<string>('SELECT id AS value FROM deleted_memories'),
    unusedContentKeys: () =>
      column<number>(
        `SELECT key AS value FROM memory_contents c
         WHERE NOT EXISTS (SELECT FROM memory_versions v WHERE v.seq = c.key AND v.content_key = c.key)
           AND NOT EXISTS (SELECT FROM memory_versions v WHERE v.content_key = c.key AND v.content_key <> v.seq)`,
      ),
    // PostgreSQL has no check of its own without an extension; page checksums are verified as pages are read.
    integrity: async () => [],
    pendingScrubs: async () => {
      const [row] = await session.run((sql) => sql<[{ n: number }]>`SELECT count(*) AS n FROM pending_scrubs`);
      return row.n;
    },
  };
}
