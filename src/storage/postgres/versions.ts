import type { RedactOutcome, Versions } from '../storage.ts';
import type { Database } from './connection.ts';
import { contentOf, toVersion, VERSION_COLUMNS, type VersionRow } from './rows.ts';

type WithBytes = { bytes?: Uint8Array | null };
type RedactRow = VersionRow & { outcome: RedactOutcome['outcome']; identical_ids: string[] };

export function createVersions(db: Database): Versions {
  return {
    async get(ref, versionId, withContent) {
      const [row] = await db.read(
        (sql) => sql<(VersionRow & WithBytes)[]>`
          SELECT ${sql.unsafe(VERSION_COLUMNS)} ${withContent ? sql`, c.bytes` : sql``}
          FROM memory_versions v JOIN memory_stores s ON s.key = v.store_key
          ${withContent ? sql`LEFT JOIN memory_contents c ON c.key = v.content_key` : sql``}
          WHERE v.id = ${versionId} AND s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}`,
      );
      return row ? toVersion(row, contentOf(row)) : null;
    },

    async list(ref, query) {
      // A store without versions gives one row of nulls, a missing one no row.
      const rows = await db.read(
        (sql) => sql<((VersionRow & WithBytes) | { seq: null })[]>`
          SELECT ${sql.unsafe(VERSION_COLUMNS)} ${query.withContent ? sql`, c.bytes` : sql``}
          FROM memory_stores s
          LEFT JOIN LATERAL (
            SELECT v.* FROM memory_versions v WHERE v.store_key = s.key
            ${query.memoryId === null ? sql`` : sql`AND v.memory_id = ${query.memoryId}`}
            ${query.operation === null ? sql`` : sql`AND v.operation = ${query.operation}`}
            ${query.actor === null ? sql`` : sql`AND v.actor_id = ${query.actor.id} AND v.actor_type = ${query.actor.type}`}
            ${query.createdFrom === null ? sql`` : sql`AND v.created_at >= ${query.createdFrom}`}
            ${query.createdTo === null ? sql`` : sql`AND v.created_at <= ${query.createdTo}`}
            ${query.before === null ? sql`` : sql`AND v.seq < ${query.before}`}
            ORDER BY v.seq DESC LIMIT ${query.limit}
          ) v ON true
          ${query.withContent ? sql`LEFT JOIN memory_contents c ON c.key = v.content_key` : sql``}
          WHERE s.id = ${ref.storeId} AND s.workspace_id = ${ref.workspaceId}
          ORDER BY v.seq DESC`,
      );
      if (rows.length === 0) return null;
      return rows.flatMap((row) => (row.seq === null ? [] : [toVersion(row, contentOf(row))]));
    },

    async redact(ref, versionId, by, now) {
      const [row] = await db.write(
        (sql) => sql<[RedactRow]>`
          SELECT r.outcome, r.identical_ids, (r.version).*
          FROM redact_version(${ref.workspaceId}, ${ref.storeId}, ${versionId}, ${by.type}, ${by.id}, ${now}) r`,
      );
      switch (row.outcome) {
        case 'redacted':
        case 'already_redacted':
          return { outcome: row.outcome, version: toVersion(row, null), identicalVersionIds: row.identical_ids };
        default:
          return { outcome: row.outcome };
      }
    },

    async expire(rule, afterMemoryId) {
      const [row] = await db.write(
        (sql) => sql<[{ next: string | null; removed: number }]>`
          SELECT next, removed FROM expire_versions(${afterMemoryId ?? ''}, ${rule.writtenBefore}, ${rule.keepRecent},
            ${rule.batch})`,
      );
      return { next: row.next, removed: row.removed };
    },
  };
}
