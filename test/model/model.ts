import { createHash } from 'node:crypto';
import { ancestorsOf } from '../../src/contract/limits.ts';
import type { Actor } from '../../src/storage/storage.ts';

export type ModelVersion = {
  memory: number;
  operation: 'created' | 'modified' | 'deleted';
  path: string | null;
  content: string | null;
  actor: Actor;
  redactedBy: Actor | null;
};

type ModelMemory = { path: string; content: string; head: number; live: boolean };

export type Verdict = { error: string; conflict?: string } | { memory: number };

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * The contract of one store in as few words as possible: arrays, no indexes, no transactions. Memories and versions
 * are named by their order of creation, since ids are the server's to choose.
 */
export class Model {
  memories: ModelMemory[] = [];
  versions: ModelVersion[] = [];
  archived = false;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get live(): ModelMemory[] {
    return this.memories.filter((memory) => memory.live);
  }

  #conflict(path: string, except: ModelMemory | null): { error: string; conflict: string } | null {
    const others = this.live.filter((memory) => memory !== except);
    const overlapping = others.find(
      (other) =>
        other.path === path || ancestorsOf(path).includes(other.path) || ancestorsOf(other.path).includes(path),
    );
    return overlapping ? { error: 'path_conflict', conflict: overlapping.path } : null;
  }

  #write(version: Omit<ModelVersion, 'redactedBy'>): number {
    return this.versions.push({ ...version, redactedBy: null }) - 1;
  }

  create(path: string, content: string, actor: Actor): Verdict {
    if (this.archived) return { error: 'invalid_request' };
    const conflict = this.#conflict(path, null);
    if (conflict) return conflict;
    if (this.live.length >= this.limit) return { error: 'invalid_request' };
    const memory = this.memories.length;
    const head = this.#write({ memory, operation: 'created', path, content, actor });
    this.memories.push({ path, content, head, live: true });
    return { memory };
  }

  update(
    index: number,
    change: { path: string | null; content: string | null; expected: string | null },
    actor: Actor,
  ): Verdict {
    if (this.archived) return { error: 'invalid_request' };
    const memory = this.memories[index];
    if (!memory?.live) return { error: 'not_found' };
    const path = change.path ?? memory.path;
    const content = change.content ?? memory.content;
    if (path === memory.path && content === memory.content) return { memory: index };
    if (change.expected !== null && sha256(change.expected) !== sha256(memory.content))
      return { error: 'precondition_failed' };
    const conflict = this.#conflict(path, memory);
    if (conflict) return conflict;
    memory.head = this.#write({ memory: index, operation: 'modified', path, content, actor });
    memory.path = path;
    memory.content = content;
    return { memory: index };
  }

  remove(index: number, expected: string | null, actor: Actor): Verdict {
    const memory = this.memories[index];
    if (!memory?.live) return { error: 'not_found' };
    if (expected !== null && expected !== memory.content) return { error: 'precondition_failed' };
    memory.live = false;
    memory.head = this.#write({ memory: index, operation: 'deleted', path: memory.path, content: null, actor });
    return { memory: index };
  }

  redact(index: number, actor: Actor): { error: string } | { identical: number[] } {
    const version = this.versions[index];
    if (!version) return { error: 'not_found' };
    const memory = this.memories[version.memory];
    if (memory?.live && memory.head === index) return { error: 'invalid_request' };
    if (version.redactedBy) return { identical: [] };
    const text = version.content;
    version.content = null;
    version.path = null;
    version.redactedBy = actor;
    const identical = this.versions.flatMap((other, i) => (text !== null && other.content === text ? [i] : []));
    return { identical: identical.reverse() };
  }

  /** What a list shows: paths in byte order, and at depth 1 groups that end with "/". */
  list(prefix: string, depth: 0 | 1): string[] {
    const shown = this.live
      .map((memory) => memory.path)
      .filter((path) => path.startsWith(prefix))
      .map((path) => {
        const slash = path.indexOf('/', prefix.length);
        return depth === 0 || slash === -1 ? path : path.slice(0, slash + 1);
      });
    return [...new Set(shown)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
}
