import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../src/storage/postgres/open.ts';
import { openSqlite } from '../../src/storage/sqlite/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createDatabase } from './postgres.ts';
import { need } from './tools.ts';

/** An empty database of an engine, and the flags that point a server at it. */
export type Database = {
  dataDir: string;
  databaseUrl: string | null;
  flags: string[];
  open(): Promise<Storage>;
  drop(): Promise<void>;
};

export type Engine = { name: 'sqlite' | 'postgres'; skip: string | undefined; create(): Promise<Database> };

/** A fresh directory under the system's temporary one. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'mneme-test-'));
}

/** Both engines: a suite runs once on each. */
export const ENGINES: Engine[] = [
  {
    name: 'sqlite',
    skip: undefined,
    async create() {
      const dataDir = await temporaryDirectory();
      return {
        dataDir,
        databaseUrl: null,
        flags: ['--data-dir', dataDir],
        open: async () => openSqlite(dataDir),
        drop: () => rm(dataDir, { recursive: true, force: true }),
      };
    },
  },
  {
    name: 'postgres',
    skip: need('postgres').skip,
    async create() {
      const { url, drop } = await createDatabase();
      return {
        dataDir: '',
        databaseUrl: url,
        flags: ['--database-url', url],
        open: () => openPostgres(url),
        drop,
      };
    },
  },
];
