import { hash } from 'node:crypto';
import { Failure } from '../contract/errors.ts';
import type { Actor, Awaitable, KeyRecord, Role } from '../storage/storage.ts';
import type { World } from './world.ts';

/** Who calls, as operations see it. */
export type Principal = {
  workspaceId: string;
  keyId: string;
  role: Role;
  /** The author that versions name. */
  actor: Actor;
  /** For a session: its newest event at this moment. */
  sessionEventId: string | null;
};

const RANK: Record<Role, number> = { read_only: 0, developer: 1, admin: 2 };

/** Raises `forbidden` unless the caller's role is at least `role`. Each operation begins with it. */
export function requireRole(principal: Principal, role: Role): void {
  if (RANK[principal.role] >= RANK[role]) return;
  throw new Failure(
    'forbidden',
    `This API key has the role ${principal.role}, and the operation needs ${role}. Use a key with that role.`,
  );
}

/** SHA-256 of a key, hexadecimal: the only form in which keys are stored. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

// How long a key that was just looked up is believed. It bounds how long a key revoked on another server still works
// here; on the server that revokes it, it stops at once.
const BELIEVED_MS = 1000;
const MAX_CACHED = 10_000;

export type Authenticator = {
  /** Answers the caller behind a key; null when it is unknown, revoked or expired. */
  authenticate(key: string): Awaitable<Principal | null>;
  /** Forgets all answers, after a key was revoked. */
  forget(): void;
};

export function createAuthenticator(world: World): Authenticator {
  const cache = new Map<string, { principal: Principal; until: number }>();

  const accept = (hashed: string, record: KeyRecord | null): Principal | null => {
    const now = world.now();
    if (!record || record.revokedAt !== null || (record.expiresAt !== null && record.expiresAt <= now)) return null;
    const principal: Principal = {
      workspaceId: record.workspaceId,
      keyId: record.id,
      role: record.role,
      actor: record.userId === null ? { type: 'api_actor', id: record.id } : { type: 'user_actor', id: record.userId },
      sessionEventId: null,
    };
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(hashed, { principal, until: Math.min(now + BELIEVED_MS, record.expiresAt ?? Number.POSITIVE_INFINITY) });
    return principal;
  };

  return {
    authenticate(key) {
      const hashed = hashKey(key);
      const cached = cache.get(hashed);
      const now = world.now();
      // A clock that stepped back must not stretch the second.
      if (cached && now < cached.until && cached.until - now <= BELIEVED_MS) return cached.principal;
      const record = world.storage.keys.findByHash(hashed);
      return record instanceof Promise ? record.then((found) => accept(hashed, found)) : accept(hashed, record);
    },
    forget: () => cache.clear(),
  };
}
