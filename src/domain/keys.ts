import { Failure, invalid, notFound } from '../contract/errors.ts';
import { isReference, randomBase58 } from '../contract/ids.ts';
import type { KeyRecord, NewKey, Role, WorkspaceRecord } from '../storage/storage.ts';
import { hashKey, type Principal, requireRole } from './access.ts';
import type { World } from './world.ts';

/** The shortest key that a setting may give: short ones could be guessed from their hash. */
export const MIN_KEY_CHARS = 24;

const NAME = /^[^\p{Cc}]{1,255}$/u;

function checkName(field: string, name: string): void {
  if (!name.isWellFormed() || !NAME.test(name))
    throw invalid(`${field} must have 1 to 255 characters and no control characters.`);
}

/** A new API key: 44 base58 characters, 257 bits of entropy. */
export function mintKey(): string {
  return `sk-mneme-${randomBase58(44)}`;
}

/** What is stored of a key: its hash and its last four characters. */
export function describeKey(key: string, rest: Omit<NewKey, 'hash' | 'hint'>): NewKey {
  return { ...rest, hash: hashKey(key), hint: key.slice(-4) };
}

function workspaceMissing(id: string): Failure {
  return notFound('Workspace', id, 'what this API key may use');
}

function requireOwner(world: World, principal: Principal): void {
  requireRole(principal, 'admin');
  if (principal.workspaceId === world.defaultWorkspaceId) return;
  throw new Failure('forbidden', 'Workspaces are managed with an admin key of the default workspace. Use one.');
}

/** The workspace that a call on keys means: the caller's own, or for the owner any that exists. */
function chooseWorkspace(world: World, principal: Principal, workspaceId: string | null): string {
  requireRole(principal, 'admin');
  const chosen = workspaceId ?? principal.workspaceId;
  const foreign = chosen !== principal.workspaceId;
  if (!isReference(chosen) || (foreign && principal.workspaceId !== world.defaultWorkspaceId))
    throw workspaceMissing(chosen);
  return chosen;
}

/** Raises `invalid_request`, `conflict` for a taken name, `forbidden`. */
export async function createWorkspace(world: World, principal: Principal, name: string): Promise<WorkspaceRecord> {
  requireOwner(world, principal);
  checkName('name', name);
  const result = await world.storage.keys.createWorkspace({ id: world.newId('wrkspc'), name, createdAt: world.now() });
  if (result.outcome === 'name_taken')
    throw new Failure('conflict', 'A workspace with this name exists. Choose another name.');
  return result.workspace;
}

export async function listWorkspaces(world: World, principal: Principal): Promise<WorkspaceRecord[]> {
  requireOwner(world, principal);
  return world.storage.keys.listWorkspaces();
}

/** Makes a key and answers it with its record: the only time it is seen. Raises `invalid_request`, `not_found`, `forbidden`. */
export async function createKey(
  world: World,
  principal: Principal,
  input: { name: string; role: Role; workspaceId: string | null; userName: string | null; expiresAt: number | null },
): Promise<{ record: KeyRecord; key: string }> {
  const workspaceId = chooseWorkspace(world, principal, input.workspaceId);
  checkName('name', input.name);
  if (input.userName !== null) checkName('user', input.userName);
  const now = world.now();
  if (input.expiresAt !== null && input.expiresAt <= now)
    throw invalid('expires_at is in the past. Give a later time.');
  const key = mintKey();
  const result = await world.storage.keys.create(
    describeKey(key, {
      id: world.newId('apikey'),
      workspaceId,
      name: input.name,
      role: input.role,
      user: input.userName === null ? null : { id: world.newId('user'), name: input.userName },
      createdBy: principal.keyId,
      expiresAt: input.expiresAt,
      now,
    }),
  );
  if (result.outcome === 'workspace_missing') throw workspaceMissing(workspaceId);
  return { record: result.key, key };
}

export async function listKeys(world: World, principal: Principal, workspaceId: string | null): Promise<KeyRecord[]> {
  const chosen = chooseWorkspace(world, principal, workspaceId);
  const workspaces = await world.storage.keys.listWorkspaces();
  if (!workspaces.some((workspace) => workspace.id === chosen)) throw workspaceMissing(chosen);
  return world.storage.keys.list(chosen);
}

/** Ends a key; a second time is a no-op. Raises `not_found`, `forbidden`, `invalid_request` for the last admin key. */
export async function revokeKey(
  world: World,
  principal: Principal,
  keyId: string,
  workspaceId: string | null,
): Promise<KeyRecord> {
  const chosen = chooseWorkspace(world, principal, workspaceId);
  if (!isReference(keyId)) throw notFound('API key', keyId);
  const result = await world.storage.keys.revoke(chosen, keyId, world.now());
  switch (result.outcome) {
    case 'revoked':
      return result.key;
    case 'last_admin':
      throw invalid(
        'This is the last admin key of the default workspace that does not expire. Create another one before revoking it.',
      );
    case 'key_missing':
      throw notFound('API key', keyId);
  }
}
