import type { Metadata } from './storage.ts';

/** Applies a patch: a string adds or replaces a key, null removes it, keys not named stay in their order. */
export function patchMetadata(current: Metadata, patch: Record<string, string | null>): Metadata {
  // Maps, because a key may be "__proto__".
  const merged = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  return Object.fromEntries(merged);
}
