import { LIMITS } from '../contract/limits.ts';
import { decodePage, encodePage } from '../contract/pages.ts';
import { toNullableTimestamp, toTimestamp } from '../contract/wire.ts';
import * as domain from '../domain/stores.ts';
import type { World } from '../domain/world.ts';
import type { StoreRecord } from '../storage/storage.ts';
import type { Handlers } from './serve.ts';
import { readTime } from './times.ts';

function toWire(store: StoreRecord) {
  return {
    id: store.id,
    type: 'memory_store' as const,
    name: store.name,
    description: store.description,
    metadata: store.metadata,
    created_at: toTimestamp(store.createdAt),
    updated_at: toTimestamp(store.updatedAt),
    archived_at: toNullableTimestamp(store.archivedAt),
  };
}

type StoreRoutes = 'createStore' | 'retrieveStore' | 'updateStore' | 'listStores' | 'archiveStore' | 'deleteStore';

export function storeHandlers(world: World): Pick<Handlers, StoreRoutes> {
  return {
    createStore: async ({ principal, body }) =>
      toWire(
        await domain.createStore(world, principal, {
          name: body.name,
          description: body.description ?? '',
          metadata: body.metadata ?? {},
        }),
      ),

    retrieveStore: async ({ principal, params }) =>
      toWire(await domain.retrieveStore(world, principal, params.memory_store_id)),

    // Null leaves a field as it is; only inside metadata does it remove something.
    updateStore: async ({ principal, params, body }) =>
      toWire(
        await domain.updateStore(world, principal, params.memory_store_id, {
          name: body.name ?? undefined,
          description: body.description ?? undefined,
          metadata: body.metadata ?? undefined,
        }),
      ),

    listStores: async ({ principal, query }) => {
      const { stores, more } = await domain.listStores(world, principal, {
        includeArchived: query.include_archived ?? false,
        createdFrom: readTime('created_at[gte]', query['created_at[gte]'], 'up'),
        createdTo: readTime('created_at[lte]', query['created_at[lte]'], 'down'),
        before: query.page === undefined ? null : decodePage('stores', 'number', query.page),
        limit: query.limit ?? LIMITS.pageDefault,
      });
      const last = stores.at(-1);
      return { data: stores.map(toWire), next_page: more && last ? encodePage('stores', last.position) : null };
    },

    archiveStore: async ({ principal, params }) =>
      toWire(await domain.archiveStore(world, principal, params.memory_store_id)),

    deleteStore: async ({ principal, params }) => {
      await domain.deleteStore(world, principal, params.memory_store_id);
      return { id: params.memory_store_id, type: 'memory_store_deleted' };
    },
  };
}
