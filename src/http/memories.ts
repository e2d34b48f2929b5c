import { LIMITS } from '../contract/limits.ts';
import { decodePage, encodePage } from '../contract/pages.ts';
import { toTimestamp } from '../contract/wire.ts';
import * as domain from '../domain/memories.ts';
import type { World } from '../domain/world.ts';
import type { MemoryRecord } from '../storage/storage.ts';
import type { Handlers } from './serve.ts';

function toWire(storeId: string, memory: MemoryRecord, content: string | null) {
  return {
    id: memory.id,
    type: 'memory' as const,
    memory_store_id: storeId,
    path: memory.path,
    memory_version_id: memory.versionId,
    content,
    content_sha256: memory.contentSha256,
    content_size_bytes: memory.contentBytes,
    created_at: toTimestamp(memory.createdAt),
    updated_at: toTimestamp(memory.updatedAt),
  };
}

type MemoryRoutes = 'createMemory' | 'retrieveMemory' | 'updateMemory' | 'listMemories' | 'deleteMemory';

export function memoryHandlers(world: World): Pick<Handlers, MemoryRoutes> {
  return {
    createMemory: async ({ principal, params, query, body, repeated }) => {
      const memory = await domain.createMemory(world, principal, params.memory_store_id, { ...body, repeated });
      return toWire(params.memory_store_id, memory, query.view === 'full' ? body.content : null);
    },

    retrieveMemory: async ({ principal, params, query }) => {
      const { memory_store_id: storeId, memory_id: memoryId } = params;
      const memory = await domain.retrieveMemory(world, principal, storeId, memoryId, query.view !== 'basic');
      return toWire(storeId, memory, memory.content);
    },

    updateMemory: async ({ principal, params, query, body }) => {
      const { memory_store_id: storeId, memory_id: memoryId } = params;
      const change = {
        path: body.path ?? null,
        content: body.content ?? null,
        expectedSha256: body.precondition?.content_sha256 ?? null,
        withContent: query.view === 'full',
      };
      const memory = await domain.updateMemory(world, principal, storeId, memoryId, change);
      return toWire(storeId, memory, memory.content);
    },

    listMemories: async ({ principal, params, query }) => {
      const withContent = query.view === 'full';
      const limit = query.limit ?? LIMITS.pageDefault;
      const { entries, more } = await domain.listMemories(world, principal, params.memory_store_id, {
        prefix: query.path_prefix ?? '/',
        depth: query.depth === 1 ? 1 : 0,
        after: query.page === undefined ? null : decodePage('memories', 'string', query.page),
        limit: withContent ? Math.min(limit, LIMITS.pageMaxFull) : limit,
        withContent,
      });
      const last = entries.at(-1);
      return {
        data: entries.map((entry) =>
          'prefix' in entry
            ? { type: 'memory_prefix' as const, path: entry.prefix }
            : toWire(params.memory_store_id, entry, entry.content),
        ),
        next_page: more && last ? encodePage('memories', 'prefix' in last ? last.prefix : last.path) : null,
      };
    },

    deleteMemory: async ({ principal, params, query, repeated }) => {
      await domain.deleteMemory(world, principal, params.memory_store_id, params.memory_id, {
        expectedSha256: query.expected_content_sha256 ?? null,
        repeated,
      });
      return { id: params.memory_id, type: 'memory_deleted' };
    },
  };
}
