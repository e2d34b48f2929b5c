import { toNullableTimestamp, toTimestamp } from '../contract/wire.ts';
import * as domain from '../domain/keys.ts';
import type { World } from '../domain/world.ts';
import type { KeyRecord, WorkspaceRecord } from '../storage/storage.ts';
import type { Handlers } from './serve.ts';
import { readTime } from './times.ts';

function toWireWorkspace(workspace: WorkspaceRecord) {
  return {
    id: workspace.id,
    type: 'workspace' as const,
    name: workspace.name,
    created_at: toTimestamp(workspace.createdAt),
  };
}

function toWireKey(key: KeyRecord) {
  return {
    id: key.id,
    type: 'api_key' as const,
    workspace_id: key.workspaceId,
    name: key.name,
    role: key.role,
    hint: key.hint,
    user: key.userId === null ? null : { id: key.userId, name: key.userName ?? '' },
    created_at: toTimestamp(key.createdAt),
    created_by: key.createdBy,
    expires_at: toNullableTimestamp(key.expiresAt),
    revoked_at: toNullableTimestamp(key.revokedAt),
  };
}

type KeyRoutes = 'createWorkspace' | 'listWorkspaces' | 'createKey' | 'listKeys' | 'revokeKey';

/** `forgetKeys` makes a revocation hold on this server at once. */
export function keyHandlers(world: World, forgetKeys: () => void): Pick<Handlers, KeyRoutes> {
  return {
    createWorkspace: async ({ principal, body }) =>
      toWireWorkspace(await domain.createWorkspace(world, principal, body.name)),

    listWorkspaces: async ({ principal }) => ({
      data: (await domain.listWorkspaces(world, principal)).map(toWireWorkspace),
      next_page: null,
    }),

    createKey: async ({ principal, body }) => {
      const { record, key } = await domain.createKey(world, principal, {
        name: body.name,
        role: body.role ?? 'developer',
        workspaceId: body.workspace_id ?? null,
        userName: body.user ?? null,
        expiresAt: readTime('expires_at', body.expires_at, 'down'),
      });
      return { ...toWireKey(record), key };
    },

    listKeys: async ({ principal, query }) => ({
      data: (await domain.listKeys(world, principal, query.workspace_id ?? null)).map(toWireKey),
      next_page: null,
    }),

    revokeKey: async ({ principal, params, query }) => {
      const key = await domain.revokeKey(world, principal, params.api_key_id, query.workspace_id ?? null);
      forgetKeys();
      return toWireKey(key);
    },
  };
}
