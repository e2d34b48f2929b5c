import Type, { type TObject, type TSchema } from 'typebox';
import type { ErrorName } from './errors.ts';
import * as keys from './keys.ts';
import * as memories from './memories.ts';
import * as stores from './stores.ts';
import * as versions from './versions.ts';
import type { BetaKind } from './wire.ts';

/**
 * One endpoint. The table below is the only description of the surface: the server validates by it, the OpenAPI
 * document is made from it, clients are driven by it, and tests walk it.
 */
export type Route = {
  method: 'GET' | 'POST' | 'DELETE';
  /** With parameters as `:name`. */
  path: string;
  summary: string;
  tag: 'Memory stores' | 'Memories' | 'Memory versions' | 'Keys';
  /** The header that callers must send, or null for an extension. */
  beta: BetaKind | null;
  params: TObject | null;
  query: TObject;
  body: TSchema | null;
  response: TSchema;
  /** What it can answer beside the errors that every endpoint has. */
  errors: readonly ErrorName[];
};

const ids = <const Names extends readonly string[]>(...names: Names) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])) as Record<Names[number], Type.TString>);

const none = Type.Object({}, { additionalProperties: false });
const inStore = ids('memory_store_id');
const memory = ids('memory_store_id', 'memory_id');
const version = ids('memory_store_id', 'memory_version_id');

const STORES = '/v1/memory_stores';
const STORE = `${STORES}/:memory_store_id`;

const route = <const R extends Omit<Route, 'tag' | 'beta'>>(tag: Route['tag'], beta: BetaKind | null, rest: R) => ({
  tag,
  beta,
  ...rest,
});

// biome-ignore format: one endpoint a row
export const ROUTES = {
  createStore: route('Memory stores', 'memory', { method: 'POST', path: STORES, summary: 'Create a memory store', params: null, query: none, body: stores.CreateStoreBody, response: stores.MemoryStore, errors: [] }),
  listStores: route('Memory stores', 'memory', { method: 'GET', path: STORES, summary: 'List memory stores, newest first', params: null, query: stores.ListStoresQuery, body: null, response: stores.MemoryStorePage, errors: [] }),
  retrieveStore: route('Memory stores', 'memory', { method: 'GET', path: STORE, summary: 'Retrieve a memory store', params: inStore, query: none, body: null, response: stores.MemoryStore, errors: ['not_found'] }),
  updateStore: route('Memory stores', 'memory', { method: 'POST', path: STORE, summary: 'Update a memory store', params: inStore, query: none, body: stores.UpdateStoreBody, response: stores.MemoryStore, errors: ['not_found'] }),
  deleteStore: route('Memory stores', 'memory', { method: 'DELETE', path: STORE, summary: 'Delete a memory store with its memories and versions', params: inStore, query: none, body: null, response: stores.DeletedMemoryStore, errors: ['not_found'] }),
  archiveStore: route('Memory stores', 'memory', { method: 'POST', path: `${STORE}/archive`, summary: 'Archive a memory store', params: inStore, query: none, body: versions.EmptyBody, response: stores.MemoryStore, errors: ['not_found'] }),

  createMemory: route('Memories', 'memory', { method: 'POST', path: `${STORE}/memories`, summary: 'Create a memory', params: inStore, query: memories.ViewQuery, body: memories.CreateMemoryBody, response: memories.Memory, errors: ['not_found', 'path_conflict'] }),
  listMemories: route('Memories', 'memory', { method: 'GET', path: `${STORE}/memories`, summary: 'List memories in path order', params: inStore, query: memories.ListMemoriesQuery, body: null, response: memories.MemoryPage, errors: ['not_found'] }),
  retrieveMemory: route('Memories', 'memory', { method: 'GET', path: `${STORE}/memories/:memory_id`, summary: 'Retrieve a memory', params: memory, query: memories.ViewQuery, body: null, response: memories.Memory, errors: ['not_found'] }),
  updateMemory: route('Memories', 'memory', { method: 'POST', path: `${STORE}/memories/:memory_id`, summary: 'Change the text, the path or both', params: memory, query: memories.ViewQuery, body: memories.UpdateMemoryBody, response: memories.Memory, errors: ['not_found', 'path_conflict', 'precondition_failed'] }),
  deleteMemory: route('Memories', 'memory', { method: 'DELETE', path: `${STORE}/memories/:memory_id`, summary: 'Delete a memory; its versions stay', params: memory, query: memories.DeleteMemoryQuery, body: null, response: memories.DeletedMemory, errors: ['not_found', 'precondition_failed'] }),

  listVersions: route('Memory versions', 'memory', { method: 'GET', path: `${STORE}/memory_versions`, summary: 'List versions, newest first', params: inStore, query: versions.ListVersionsQuery, body: null, response: versions.MemoryVersionPage, errors: ['not_found'] }),
  retrieveVersion: route('Memory versions', 'memory', { method: 'GET', path: `${STORE}/memory_versions/:memory_version_id`, summary: 'Retrieve a version', params: version, query: versions.RetrieveVersionQuery, body: null, response: versions.MemoryVersion, errors: ['not_found'] }),
  redactVersion: route('Memory versions', 'memory', { method: 'POST', path: `${STORE}/memory_versions/:memory_version_id/redact`, summary: 'Remove the text and path of a version for good', params: version, query: none, body: versions.EmptyBody, response: versions.MemoryVersion, errors: ['not_found'] }),

  createWorkspace: route('Keys', null, { method: 'POST', path: '/mneme/v1/workspaces', summary: 'Create a workspace', params: null, query: none, body: keys.CreateWorkspaceBody, response: keys.Workspace, errors: ['forbidden', 'conflict'] }),
  listWorkspaces: route('Keys', null, { method: 'GET', path: '/mneme/v1/workspaces', summary: 'List workspaces', params: null, query: none, body: null, response: keys.WorkspaceList, errors: ['forbidden'] }),
  createKey: route('Keys', null, { method: 'POST', path: '/mneme/v1/keys', summary: 'Create an API key', params: null, query: none, body: keys.CreateKeyBody, response: keys.CreatedApiKey, errors: ['forbidden', 'not_found'] }),
  listKeys: route('Keys', null, { method: 'GET', path: '/mneme/v1/keys', summary: 'List API keys', params: null, query: keys.ListKeysQuery, body: null, response: keys.ApiKeyList, errors: ['forbidden', 'not_found'] }),
  revokeKey: route('Keys', null, { method: 'POST', path: '/mneme/v1/keys/:api_key_id/revoke', summary: 'Revoke an API key', params: ids('api_key_id'), query: keys.ListKeysQuery, body: versions.EmptyBody, response: keys.ApiKey, errors: ['forbidden', 'not_found'] }),
} as const;

export type RouteName = keyof typeof ROUTES;
