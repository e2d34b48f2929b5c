import { type KeyRow, SELECT_KEYS, toKey, toWorkspace, type WorkspaceRow } from '../rows.ts';
import type { KeyRecord, Keys, NewKey, WorkspaceRecord } from '../storage.ts';
import type { Database, Sql } from './connection.ts';

/** The functions of the schema take a key and a workspace as JSON objects with the field names of this interface. */
const json = (sql: Sql, value: NewKey | WorkspaceRecord | null) => (value === null ? null : sql.json(value));

export function createKeys(db: Database): Keys {
  const findKey = async (id: string): Promise<KeyRecord> => {
    const [row] = await db.read((sql) => sql<[KeyRow]>`${sql.unsafe(SELECT_KEYS)} WHERE k.id = ${id}`);
    return toKey(row);
  };

  return {
    async createWorkspace(workspace) {
      const rows = await db.write(
        (sql) => sql`
          INSERT INTO workspaces (id, name, is_default, created_at)
          VALUES (${workspace.id}, ${workspace.name}, 0, ${workspace.createdAt}) ON CONFLICT DO NOTHING RETURNING id`,
      );
      return rows.length === 1 ? { outcome: 'created', workspace } : { outcome: 'name_taken' };
    },

    async listWorkspaces() {
      const rows = await db.read(
        (sql) => sql<WorkspaceRow[]>`
          SELECT id, name, created_at FROM workspaces ORDER BY is_default DESC, created_at, id`,
      );
      return rows.map(toWorkspace);
    },

    async create(key) {
      const [row] = await db.write(
        (sql) => sql<[{ created: boolean }]>`SELECT create_key(${json(sql, key)}) AS created`,
      );
      return row.created ? { outcome: 'created', key: await findKey(key.id) } : { outcome: 'workspace_missing' };
    },

    async findByHash(hash) {
      const [row] = await db.read((sql) => sql<KeyRow[]>`${sql.unsafe(SELECT_KEYS)} WHERE k.hash = ${hash}`);
      return row ? toKey(row) : null;
    },

    async list(workspaceId) {
      const rows = await db.read(
        (sql) => sql<KeyRow[]>`
          ${sql.unsafe(SELECT_KEYS)} WHERE k.workspace_id = ${workspaceId} ORDER BY k.created_at, k.id`,
      );
      return rows.map(toKey);
    },

    async revoke(workspaceId, keyId, now) {
      const [row] = await db.write(
        (sql) => sql<[{ outcome: 'revoked' | 'key_missing' | 'last_admin' }]>`
          SELECT revoke_key(${workspaceId}, ${keyId}, ${now}) AS outcome`,
      );
      return row.outcome === 'revoked' ? { outcome: 'revoked', key: await findKey(keyId) } : { outcome: row.outcome };
    },

    async bootstrap({ workspace, fixed, fresh }) {
      const [row] = await db.write(
        (sql) => sql<[WorkspaceRow & { fresh_used: boolean }]>`
          SELECT b.fresh_used, (b.workspace).id, (b.workspace).name, (b.workspace).created_at
          FROM bootstrap_keys(${json(sql, workspace)}, ${json(sql, fixed)}, ${json(sql, fresh)}) b`,
      );
      return { freshUsed: row.fresh_used, workspace: toWorkspace(row) };
    },
  };
}
