import type { Static } from 'typebox';
import { LIMITS } from '../contract/limits.ts';
import { decodePage, encodePage } from '../contract/pages.ts';
import type { MemoryVersion, Actor as WireActor } from '../contract/versions.ts';
import { toNullableTimestamp, toTimestamp } from '../contract/wire.ts';
import * as domain from '../domain/versions.ts';
import type { World } from '../domain/world.ts';
import type { Actor, VersionRecord } from '../storage/storage.ts';
import type { Handlers } from './serve.ts';
import { readTime } from './times.ts';

export function toWireActor(actor: Actor | null): Static<typeof WireActor> | null {
  switch (actor?.type) {
    case undefined:
      return null;
    case 'api_actor':
      return { type: 'api_actor', api_key_id: actor.id };
    case 'user_actor':
      return { type: 'user_actor', user_id: actor.id };
    case 'session_actor':
      return { type: 'session_actor', session_id: actor.id };
    case 'service_account_actor':
      return { type: 'service_account_actor', service_account_id: actor.id };
  }
}

function toWire(storeId: string, version: VersionRecord): Static<typeof MemoryVersion> {
  return {
    id: version.id,
    type: 'memory_version',
    memory_store_id: storeId,
    memory_id: version.memoryId,
    operation: version.operation,
    path: version.path,
    content: version.content,
    content_sha256: version.contentSha256,
    content_size_bytes: version.contentBytes,
    created_at: toTimestamp(version.createdAt),
    created_by: toWireActor(version.actor),
    redacted_at: toNullableTimestamp(version.redactedAt),
    redacted_by: toWireActor(version.redactedBy),
    ...(version.sessionEventId === null ? {} : { session_event_id: version.sessionEventId }),
  };
}

type VersionRoutes = 'listVersions' | 'retrieveVersion' | 'redactVersion';

export function versionHandlers(world: World): Pick<Handlers, VersionRoutes> {
  return {
    listVersions: async ({ principal, params, query }) => {
      const actors: Actor[] = [];
      if (query.api_key_id !== undefined) actors.push({ type: 'api_actor', id: query.api_key_id });
      if (query.session_id !== undefined) actors.push({ type: 'session_actor', id: query.session_id });
      if (query.service_account_id !== undefined)
        actors.push({ type: 'service_account_actor', id: query.service_account_id });
      const withContent = query.view === 'full';
      const limit = query.limit ?? LIMITS.pageDefault;
      const { versions, more } = await domain.listVersions(world, principal, params.memory_store_id, {
        memoryId: query.memory_id ?? null,
        operation: query.operation ?? null,
        actors,
        createdFrom: readTime('created_at[gte]', query['created_at[gte]'], 'up'),
        createdTo: readTime('created_at[lte]', query['created_at[lte]'], 'down'),
        before: query.page === undefined ? null : decodePage('versions', 'number', query.page),
        limit: withContent ? Math.min(limit, LIMITS.pageMaxFull) : limit,
        withContent,
      });
      const last = versions.at(-1);
      return {
        data: versions.map((version) => toWire(params.memory_store_id, version)),
        next_page: more && last ? encodePage('versions', last.position) : null,
      };
    },

    retrieveVersion: async ({ principal, params, query }) => {
      const { memory_store_id: storeId, memory_version_id: versionId } = params;
      return toWire(
        storeId,
        await domain.retrieveVersion(world, principal, storeId, versionId, query.view !== 'basic'),
      );
    },

    redactVersion: async ({ principal, params }) => {
      const { memory_store_id: storeId, memory_version_id: versionId } = params;
      const { version, identicalVersionIds } = await domain.redactVersion(world, principal, storeId, versionId);
      return { ...toWire(storeId, version), identical_version_ids: identicalVersionIds };
    },
  };
}
