import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import postgres from 'postgres';
import { startPostgres } from '../test/tools/postgres.ts';
import { startChild } from './cleanup.ts';
import { OPERATIONS, type Operation } from './messages.ts';
import type { Options } from './options.ts';
import { BASE, type Figures, perOperation, summarize } from './part-http.ts';
import { residentBytes } from './server.ts';
import { Generator, type Measurement, startTarget } from './target.ts';

export type PostgresPart = {
  version: string;
  hello: Figures;
  http: Record<Operation, Figures>;
  residentBytes: number | null;
};

function hasBinaries(): boolean {
  const folders = [...globSync('/usr/lib/postgresql/*/bin'), ...(process.env.PATH ?? '').split(delimiter)];
  return folders.some((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** The given database server, or a private one with the settings that PostgreSQL has by itself, fsync among them. */
async function findServer(): Promise<{ url: string; stop(): Promise<void> } | { missing: string }> {
  const given = process.env.MNEME_BENCH_POSTGRES_URL;
  if (given) return { url: given, stop: async () => {} };
  if (!hasBinaries())
    return {
      missing: 'no PostgreSQL found; install it, or give MNEME_BENCH_POSTGRES_URL (a server to make a database on)',
    };
  const cluster = await startPostgres(new AbortController().signal);
  if ('missing' in cluster) return cluster;
  await onServer(cluster.url, async (sql) => {
    // The tests turn these off.
    await sql.unsafe('ALTER SYSTEM SET wal_recycle = on');
    await sql.unsafe("ALTER SYSTEM SET min_wal_size = '80MB'");
    await sql.unsafe('SELECT pg_reload_conf()');
  });
  return cluster;
}

async function onServer<T>(url: string, action: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await action(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The loads of the first part on PostgreSQL, beside raw node:http; a reason when there is no PostgreSQL. */
export async function runPostgres(
  options: Options,
  say: (line: string) => void,
): Promise<PostgresPart | { missing: string }> {
  const cluster = await findServer();
  if ('missing' in cluster) return cluster;
  const name = `mneme_bench_${process.pid}`;
  try {
    await onServer(cluster.url, (sql) => sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`));
    try {
      return await measure(options, say, cluster.url, name);
    } finally {
      await onServer(cluster.url, (sql) => sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`));
    }
  } finally {
    await cluster.stop();
  }
}

async function measure(
  options: Options,
  say: (line: string) => void,
  server: string,
  name: string,
): Promise<PostgresPart> {
  const url = new URL(server);
  url.pathname = `/${name}`;
  const version = await onServer(
    url.href,
    async (sql) => (await sql`SHOW server_version`)[0]?.server_version as string,
  );
  const generator = new Generator();
  const child = startChild('./hello.ts');
  const hello = { port: await child.ask<number>('listen'), child };
  const target = await startTarget({ databaseUrl: url.href }, BASE);
  const helloRounds: Measurement[] = [];
  const rounds = perOperation(() => [] as Measurement[]);
  const warmUp = Math.min(options.seconds, 1.5);
  await generator.hello(hello, warmUp);
  for (const operation of OPERATIONS) await generator.load(target, operation, warmUp);
  for (let round = 1; round <= options.rounds; round++) {
    say(`round ${round} of ${options.rounds}`);
    helloRounds.push(await generator.hello(hello, options.seconds));
    for (const operation of OPERATIONS)
      rounds[operation].push(await generator.load(target, operation, options.seconds));
  }
  const resident = residentBytes(target.server.process);
  await target.server.stop();
  await Promise.all([child.end(), generator.end()]);
  return {
    version,
    hello: summarize(helloRounds),
    http: perOperation((operation) => summarize(rounds[operation])),
    residentBytes: resident,
  };
}
