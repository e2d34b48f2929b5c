// placeholder by the lead until the engine lands; overwrite it
import type { Snapshot, Storage } from '../storage.ts';
export async function openPostgres(_url: string): Promise<Storage> {
  throw new Error('not yet');
}
export async function snapshotPostgres<T>(_url: string, _read: (s: Snapshot) => Promise<T>): Promise<T> {
  throw new Error('not yet');
}
export async function scrubPostgres(_url: string): Promise<{ removed: number; remaining: string[] }> {
  throw new Error('not yet');
}
