import assert from 'node:assert/strict';
import { ancestorsOf } from '../../src/contract/limits.ts';
import type { Fleet, Item } from './fleet.ts';

/**
 * Plays a store's versions from the oldest to the newest and checks that each step was allowed in the state before it:
 * no path taken twice or above another, no change of a dead memory, never more than `limit` memories. The end must be
 * what the store holds. It is how a moment of too many is found that no reader happened to see.
 */
export async function checkHistory(fleet: Fleet, store: string, limit: number): Promise<Item[]> {
  const versions = (await fleet.all(`${store}/memory_versions`)).reverse();
  const live = new Map<string, { path: string; version: string; sha256: string | null }>();
  for (const version of versions) {
    const { id, memory_id: memory, operation, path, content_sha256: sha256 } = version;
    const step = `version ${id} (${operation})`;
    if (operation === 'created') assert.ok(!live.has(memory), `${step}: its memory is new`);
    else assert.ok(live.has(memory), `${step}: its memory is live`);
    if (operation === 'deleted') {
      live.delete(memory);
      continue;
    }
    for (const [other, { path: taken }] of live)
      assert.ok(
        other === memory ||
          (taken !== path && !ancestorsOf(path).includes(taken) && !ancestorsOf(taken).includes(path)),
        `${step}: its path ${path} is free beside ${taken}`,
      );
    live.set(memory, { path, version: id, sha256 });
    assert.ok(live.size <= limit, `${step}: the store holds at most ${limit} memories`);
  }
  const memories = await fleet.all(`${store}/memories`);
  const held = memories.map((each) => [
    each.id,
    { path: each.path, version: each.memory_version_id, sha256: each.content_sha256 },
  ]);
  assert.deepEqual(new Map(held as [string, { path: string; version: string; sha256: string }][]), live);
  return versions;
}
