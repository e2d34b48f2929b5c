import { type KeyRow, SELECT_KEYS, toKey, toWorkspace, type WorkspaceRow } from '../rows.ts';
import type { KeyRecord, Keys, NewKey, WorkspaceRecord } from '../storage.ts';
import type { Connection } from './connection.ts';

export function createKeys(db: Connection): Keys {
  const { sql, write } = db;

  const findWorkspace = (id: string) => sql('SELECT id, name, created_at FROM workspaces WHERE id = ?').get(id);

  const insertWorkspace = (workspace: WorkspaceRecord, isDefault: boolean) =>
    Number(
      sql('INSERT INTO workspaces (id, name, is_default, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING').run(
        workspace.id,
        workspace.name,
        isDefault ? 1 : 0,
        workspace.createdAt,
      ).changes,
    ) === 1;

  const insertKey = (key: NewKey, fromSetting: boolean): KeyRecord => {
    if (key.user)
      sql(
        'INSERT INTO users (id, workspace_id, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (workspace_id, name) DO NOTHING',
      ).run(key.user.id, key.workspaceId, key.user.name, key.now);
    sql(
      `INSERT INTO api_keys (id, workspace_id, name, role, hash, hint, user_id, from_setting, created_at, created_by, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, (SELECT id FROM users WHERE workspace_id = ? AND name = ?), ?, ?, ?, ?)`,
    ).run(
      key.id,
      key.workspaceId,
      key.name,
      key.role,
      key.hash,
      key.hint,
      key.workspaceId,
      key.user?.name ?? null,
      fromSetting ? 1 : 0,
      key.now,
      key.createdBy,
      key.expiresAt,
    );
    return toKey(sql(`${SELECT_KEYS} WHERE k.id = ?`).get(key.id) as KeyRow);
  };

  return {
    createWorkspace: (workspace) =>
      write(() => (insertWorkspace(workspace, false) ? { outcome: 'created', workspace } : { outcome: 'name_taken' })),

    listWorkspaces() {
      const rows = sql('SELECT id, name, created_at FROM workspaces ORDER BY rowid').all();
      return (rows as WorkspaceRow[]).map(toWorkspace);
    },

    create: (key) =>
      write(() =>
        findWorkspace(key.workspaceId)
          ? { outcome: 'created', key: insertKey(key, false) }
          : { outcome: 'workspace_missing' },
      ),

    findByHash(hash) {
      const row = sql(`${SELECT_KEYS} WHERE k.hash = ?`).get(hash) as KeyRow | undefined;
      return row ? toKey(row) : null;
    },

    list(workspaceId) {
      const rows = sql(`${SELECT_KEYS} WHERE k.workspace_id = ? ORDER BY k.rowid`).all(workspaceId);
      return (rows as KeyRow[]).map(toKey);
    },

    revoke: (workspaceId, keyId, now) =>
      write(() => {
        const find = () => sql(`${SELECT_KEYS} WHERE k.id = ? AND k.workspace_id = ?`).get(keyId, workspaceId);
        const row = find() as KeyRow | undefined;
        if (!row) return { outcome: 'key_missing' };
        if (row.revoked_at !== null) return { outcome: 'revoked', key: toKey(row) };
        const other = sql(
          `SELECT 1 FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id AND w.is_default = 1
           WHERE k.role = 'admin' AND k.id <> ? AND k.revoked_at IS NULL AND k.expires_at IS NULL LIMIT 1`,
        ).get(keyId);
        const isDefault = sql('SELECT 1 FROM workspaces WHERE id = ? AND is_default = 1').get(workspaceId);
        if (row.role === 'admin' && isDefault && !other) return { outcome: 'last_admin' };
        sql('UPDATE api_keys SET revoked_at = ? WHERE id = ?').run(now, keyId);
        return { outcome: 'revoked', key: toKey(find() as KeyRow) };
      }),

    bootstrap: ({ workspace, fixed, fresh }) =>
      write(() => {
        const findDefault = () => sql('SELECT id, name, created_at FROM workspaces WHERE is_default = 1').get();
        if (!findDefault()) insertWorkspace(workspace, true);
        const home = toWorkspace(findDefault() as WorkspaceRow);
        if (fixed) {
          sql('UPDATE api_keys SET revoked_at = ? WHERE from_setting = 1 AND hash <> ? AND revoked_at IS NULL').run(
            fixed.now,
            fixed.hash,
          );
          const known = sql('SELECT id FROM api_keys WHERE hash = ?').get(fixed.hash) as { id: string } | undefined;
          if (known)
            sql(
              `UPDATE api_keys SET revoked_at = NULL, expires_at = NULL, role = 'admin', from_setting = 1 WHERE id = ?
               AND (revoked_at IS NOT NULL OR expires_at IS NOT NULL OR role <> 'admin' OR from_setting = 0)`,
            ).run(known.id);
          else insertKey({ ...fixed, workspaceId: home.id }, true);
          return { freshUsed: false, workspace: home };
        }
        const admin = sql("SELECT 1 FROM api_keys WHERE workspace_id = ? AND role = 'admin' LIMIT 1").get(home.id);
        if (admin) return { freshUsed: false, workspace: home };
        insertKey({ ...fresh, workspaceId: home.id }, false);
        return { freshUsed: true, workspace: home };
      }),
  };
}
