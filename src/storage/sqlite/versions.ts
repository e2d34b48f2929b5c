import { toVersion, VERSION_COLUMNS, type VersionRow } from '../rows.ts';
import type { StoreRef, VersionRecord, Versions } from '../storage.ts';
import type { Connection } from './connection.ts';
import { readContent } from './memories.ts';
import { dropUnusedContent, findState } from './stores.ts';

function findVersion(db: Connection, ref: StoreRef, versionId: string): VersionRow | undefined {
  const store = findState(db, ref);
  const row = db.sql(`SELECT ${VERSION_COLUMNS} FROM memory_versions WHERE id = ?`).get(versionId) as
    | VersionRow
    | undefined;
  return store && row?.store_key === store.key ? row : undefined;
}

export function createVersions(db: Connection): Versions {
  const { sql, write } = db;
  const show = (row: VersionRow, withContent: boolean): VersionRecord =>
    toVersion(row, withContent && row.content_key !== null ? readContent(db, row.content_key) : null);

  /** Removes versions of one memory up to a number, written before a time; their texts go when unused. */
  const removeVersions = (memoryId: string, upToNumber: number, writtenBefore: number): number => {
    const rows = sql(
      'SELECT seq, content_key FROM memory_versions WHERE memory_id = ? AND version_number <= ? AND created_at < ?',
    ).all(memoryId, upToNumber, writtenBefore) as { seq: number; content_key: number | null }[];
    for (const row of rows) {
      sql('DELETE FROM memory_versions WHERE seq = ?').run(row.seq);
      dropUnusedContent(db, row.content_key);
    }
    return rows.length;
  };

  return {
    get(ref, versionId, withContent) {
      db.beginReads();
      const row = findVersion(db, ref, versionId);
      return row ? show(row, withContent) : null;
    },

    list(ref, query) {
      db.beginReads();
      const store = findState(db, ref);
      if (!store) return null;
      const conditions = ['store_key = ?'];
      const values: (string | number)[] = [store.key];
      const add = (condition: string, ...bound: (string | number | null)[]) => {
        if (bound.some((value) => value === null)) return;
        conditions.push(condition);
        values.push(...(bound as (string | number)[]));
      };
      add('memory_id = ?', query.memoryId);
      add('operation = ?', query.operation);
      if (query.actor) add('actor_id = ? AND actor_type = ?', query.actor.id, query.actor.type);
      add('created_at >= ?', query.createdFrom);
      add('created_at <= ?', query.createdTo);
      add('seq < ?', query.before);
      const rows = sql(
        `SELECT ${VERSION_COLUMNS} FROM memory_versions WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`,
      ).all(...values, query.limit) as VersionRow[];
      return rows.map((row) => show(row, query.withContent));
    },

    redact: (ref, versionId, by, now) =>
      write(() => {
        const row = findVersion(db, ref, versionId);
        if (!row) return { outcome: 'version_missing' };
        if (sql('SELECT 1 FROM memories WHERE id = ? AND version_id = ?').get(row.memory_id, row.id))
          return { outcome: 'head_of_live_memory' };
        if (row.redacted_at !== null)
          return { outcome: 'already_redacted', version: toVersion(row, null), identicalVersionIds: [] };
        const identical =
          row.content_sha256 === null
            ? []
            : (sql(
                'SELECT id FROM memory_versions WHERE store_key = ? AND content_sha256 = ? AND seq <> ? ORDER BY seq DESC',
              ).all(row.store_key, row.content_sha256, row.seq) as { id: string }[]);
        const redacted = sql(
          `UPDATE memory_versions SET path = NULL, content_key = NULL, content_sha256 = NULL, content_bytes = NULL,
             redacted_at = ?, redacted_by_type = ?, redacted_by_id = ? WHERE seq = ? RETURNING ${VERSION_COLUMNS}`,
        ).get(Math.max(now, row.created_at), by.type, by.id, row.seq) as VersionRow;
        dropUnusedContent(db, row.content_key);
        sql('INSERT INTO pending_scrubs (requested_at) VALUES (?)').run(now);
        return {
          outcome: 'redacted',
          version: toVersion(redacted, null),
          identicalVersionIds: identical.map((version) => version.id),
        };
      }),

    expire: (rule, afterMemoryId) =>
      write(() => {
        const live = sql('SELECT id, version_number FROM memories WHERE id > ? ORDER BY id LIMIT ?').all(
          afterMemoryId ?? '',
          rule.batch,
        ) as { id: string; version_number: number }[];
        let removed = 0;
        for (const memory of live) {
          const upTo = memory.version_number - Math.max(rule.keepRecent, 1);
          if (upTo > 0) removed += removeVersions(memory.id, upTo, rule.writtenBefore);
        }
        const last = live[live.length - 1];
        if (last && live.length === rule.batch) return { next: last.id, removed };

        const deleted = sql('SELECT id FROM deleted_memories WHERE deleted_at < ? ORDER BY deleted_at LIMIT ?').all(
          rule.writtenBefore,
          rule.batch,
        ) as { id: string }[];
        for (const memory of deleted) {
          removed += removeVersions(memory.id, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
          sql('DELETE FROM deleted_memories WHERE id = ?').run(memory.id);
        }
        // The largest possible id: the next call goes on with deleted memories only.
        return { next: deleted.length === rule.batch ? '~' : null, removed };
      }),
  };
}
